// Package engine runs dynoxide, the program that replaces DynamoDB on one machine, and
// creates the template's tables in it.
//
// It handles the program's arguments and DynamoDB's table operations, but not the
// items. The program is one process with one writer: it never causes conflicts,
// throttling or lost replies. What it does with streams is in stream.go.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/local/child"
	"flashsale/infra/local/template"
)

const (
	startLimit = 10 * time.Second
	stopLimit  = 5 * time.Second
	startTries = 3
)

type Options struct {
	Binary string
	// Sheltered makes it listen where no browser connects to, because the program answers every
	// web page; otherwise it listens on a free port of 127.0.0.1.
	Sheltered bool
	// DBPath is its database file; empty keeps everything in memory.
	DBPath string
	// Log receives the program's output, a line per Write; nil discards it.
	Log io.Writer
}

type Engine struct {
	program child.Program
	address address
}

// BinaryUnder returns where `make engine` puts the program for this machine
// below the module's root.
func BinaryUnder(root string) string {
	cpu := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH] // as Node names them
	return filepath.Join(root, ".build", "engine", "node_modules", "@dynoxide", runtime.GOOS+"-"+cpu, "dynoxide")
}

// Start starts the program and returns once it answers. ctx bounds the start only; the
// engine runs until Stop, or until this process dies.
func Start(ctx context.Context, o Options) (*Engine, error) {
	for try := 1; ; try++ {
		e, err := startOnce(ctx, o)
		// A free port may be taken by the time the program listens.
		if err == nil || try == startTries || ctx.Err() != nil {
			return e, err
		}
	}
}

func startOnce(ctx context.Context, o Options) (*Engine, error) {
	take := freePort
	if o.Sheltered {
		take = shelter
	}
	at, err := take()
	if err != nil {
		return nil, fmt.Errorf("start engine: %w", err)
	}
	args := []string{"--host", at.host, "--port", strconv.Itoa(at.port)}
	if o.DBPath != "" {
		args = append(args, "--db-path", o.DBPath)
	}
	e := &Engine{address: at}
	e.program = child.Program{Name: "engine", ReadyURL: e.Endpoint(), Command: child.Command{Path: o.Binary, Args: args, Output: o.Log}}
	if err := e.Again(ctx); err != nil {
		at.leave()
		return nil, err
	}
	return e, nil
}

// Again starts the program again after its end, at the same address and on the same file.
func (e *Engine) Again(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := e.program.Start(ctx); err != nil {
		return errors.Join(err, e.end())
	}
	return nil
}

func (e *Engine) Endpoint() string {
	return "http://" + net.JoinHostPort(e.address.host, strconv.Itoa(e.address.port))
}

// Done is closed when the process has ended, whatever the reason.
func (e *Engine) Done() <-chan struct{} { return e.program.Done() }

// Kill ends the process at once, as a crash would, and waits for it. Acknowledged
// writes are on disk, so a killed engine with a DBPath loses nothing.
func (e *Engine) Kill() { e.program.Kill() }

// Stop ends the process and waits for it. It returns an error if the process did not
// end well; stopping an engine that has ended does nothing.
func (e *Engine) Stop() error {
	defer e.address.leave()
	return e.end()
}

func (e *Engine) end() error {
	if e.program.Ended() {
		return nil
	}
	err := e.program.Stop(stopLimit)
	// The program answers before it handles signals. What it has answered is on disk.
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGTERM {
		return nil
	}
	return err
}

// Client returns a DynamoDB client for an engine's URL. It makes one attempt
// per call and takes nothing from the environment, so it can never reach AWS.
func Client(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint:     aws.String(endpoint),
		Region:           template.Region,
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		RetryMaxAttempts: 1,
		// With the default of ten idle connections, new ones would be opened all the
		// time under load.
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = 256
		}),
	})
}

type address struct {
	host string
	port int
	// lock is held for as long as the address is in use; nil if nobody else looks for it.
	lock net.PacketConn
}

func (a address) leave() {
	if a.lock != nil {
		_ = a.lock.Close()
	}
}

func freePort() (address, error) {
	ports, err := child.FreePorts(1)
	if err != nil {
		return address{}, err
	}
	return address{host: "127.0.0.1", port: ports[0]}, nil
}

// shelters are ports to which browsers refuse to connect, because other protocols use them:
// https://fetch.spec.whatwg.org/#port-blocking. Those that a developer's machine is likely to
// use (NFS, X11) are left out.
var shelters = []int{6665, 6666, 6667, 6668, 6669, 6697, 6566, 10080, 5060, 5061, 4045, 3659, 1719, 1720, 1723}

// hosts is how many loopback addresses are tried. Linux has all of them, macOS the first one.
const hosts = 32

// shelter returns an address to which no browser connects. Stacks that start at the same time all
// look among the same few ports, so each locks its own by the UDP port of the same number,
// which the system frees when the process ends.
func shelter() (address, error) {
	var last error
	for host := 1; host <= hosts; host++ {
		for _, port := range shelters {
			a := address{host: "127.0.0." + strconv.Itoa(host), port: port}
			if a.lock, last = net.ListenPacket("udp", net.JoinHostPort(a.host, strconv.Itoa(port))); last != nil {
				continue
			}
			var l net.Listener
			if l, last = net.Listen("tcp", net.JoinHostPort(a.host, strconv.Itoa(port))); last == nil {
				return a, l.Close()
			}
			a.leave()
		}
	}
	return address{}, fmt.Errorf("listen on one of the ports %v: %w", shelters, last)
}

// EnsureTable creates the table if it does not exist, gives it the stream that it shall have
// and returns once it is active.
func EnsureTable(ctx context.Context, client *dynamodb.Client, t template.Table) error {
	for {
		out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name})
		switch _, missing := errors.AsType[*types.ResourceNotFoundException](err); {
		case missing:
			if err := create(ctx, client, t); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("describe table %s: %w", t.Name, err)
		case out.Table.TableStatus == types.TableStatusActive:
			done, err := ensureStream(ctx, client, t, out.Table.StreamSpecification)
			if done || err != nil {
				return err
			}
			continue
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for table %s: %w", t.Name, ctx.Err())
		}
	}
}

func create(ctx context.Context, client *dynamodb.Client, t template.Table) error {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest}
	for _, a := range t.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{
			AttributeName: aws.String(a.Name), AttributeType: types.ScalarAttributeType(a.Type),
		})
	}
	for _, k := range t.KeySchema {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{
			AttributeName: aws.String(k.Name), KeyType: types.KeyType(k.Type),
		})
	}
	if t.StreamView != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewType(t.StreamView)}
	}
	if _, err := client.CreateTable(ctx, in); err != nil {
		return fmt.Errorf("create table %s: %w", t.Name, err)
	}
	return nil
}

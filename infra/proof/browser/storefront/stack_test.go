// Package storefront tests what a shop with a front end of its own has: the examples, bought through from another origin
// under a strict content security policy, the element <flash-sale>, and the npm package.
package storefront

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/child"
	"flashsale/infra/local/launch"
	"flashsale/infra/ops/consumers/storefront"
	"flashsale/infra/ops/packaging/npm"
	"flashsale/infra/proof/browser"
)

// root is the project's folder.
const root = "../../../.."

const limit = time.Minute

var (
	chromium *browser.Browser
	stack    *launch.Stack
	api      *client.Client
	project  string // a folder with the React example and all packages

	plain, react string // origins of shops whose pages the stack allows
	foreign      string // of the React example again, which it does not
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	folder, err := os.MkdirTemp("", "storefront")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(folder)
	project = folder
	if err := build(); err != nil {
		return 1, err
	}
	var servers [3]*httptest.Server
	for i := range servers {
		servers[i] = httptest.NewUnstartedServer(nil)
		defer servers[i].Close()
	}
	origin := func(s *httptest.Server) string { return "http://" + s.Listener.Addr().String() }
	plain, react, foreign = origin(servers[0]), origin(servers[1]), origin(servers[2])
	ports, err := child.FreePorts(1)
	if err != nil {
		return 1, err
	}
	stack, err = browser.Launch(root, "-parameter", "CorsAllowedOrigins="+plain+","+react, "-parameter", fmt.Sprintf(
		"PaymentUrl=/_local/shop/%d?order={orderId}&sale={saleId}&amount={amount}&currency={currency}&payBy={payBy}&signature={signature}", ports[0]))
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stack.Stop(limit)) }()
	payment := &child.Program{Name: "payment page", ReadyURL: "http://" + net.JoinHostPort("127.0.0.1", fmt.Sprint(ports[0])) + "/", AnyStatus: true, Command: child.Command{
		Path: filepath.Join(root, ".build/host/shop"), Args: []string{stack.API}, Env: []string{"ADDRESSES=" + os.DevNull, fmt.Sprintf("SHOP_PORT=%d", ports[0]), "BACK=" + plain + "/?sale="},
	}}
	if err := payment.Start(context.Background()); err != nil {
		return 1, err
	}
	defer payment.Kill()
	api = client.New(stack.API, client.Options{Lambda: stack.Lambda})
	defer api.Close()
	built := os.DirFS(filepath.Join(project, "dist"))
	for i, shop := range []http.Handler{storefront.New(api, nil), storefront.New(api, built), storefront.New(api, built)} {
		servers[i].Config.Handler = shop
		servers[i].Start()
	}
	if chromium, err = browser.Start(root); err != nil {
		return 1, err
	}
	code = m.Run()
	return code, chromium.Stop()
}

// build installs the npm package as a shop does, into a folder with the packages that `make browser` has installed, and
// builds the React example there.
func build() error {
	files, err := npm.Files(os.DirFS(root))
	if err != nil {
		return err
	}
	name, tarball, err := npm.Pack(files)
	if err := errors.Join(err, os.WriteFile(filepath.Join(project, name), tarball, 0o644)); err != nil {
		return err
	}
	steps := [][]string{
		{"npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "./" + name},
		{"sh", "-c", `ln -s "$0"/node_modules/* "$0"/node_modules/.bin node_modules/`, absolute(".build/storefront")},
		{"sh", "-c", `cp "$0"/* .`, absolute("infra/ops/consumers/storefront/react")},
		{"npm", "run", "build", "--loglevel=error"},
	}
	for _, words := range steps {
		c := exec.Command(words[0], words[1:]...)
		c.Dir = project
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w (make browser installs what it needs)\n%s", words, err, out)
		}
	}
	return nil
}

func absolute(path string) string {
	path, _ = filepath.Abs(filepath.Join(root, path))
	return path
}

var ids atomic.Int64

// newID returns an id for a sale or a user.
func newID(kind string) string { return fmt.Sprintf("%s-%d", kind, ids.Add(1)) }

// unpaid are the members of a creation that ask for payment within half an hour.
var unpaid = map[string]any{"payWithin": 1800, "price": 89900, "currency": "CNY"}

// create creates a sale that is open, and returns its id.
func create(t testing.TB, more map[string]any) string {
	t.Helper()
	saleID, now := newID("sale"), time.Now().UTC()
	request := map[string]any{
		"action": "create", "saleId": saleID, "name": "Bottle " + saleID, "stock": 5, "shards": 1,
		"opensAt": now.Add(-time.Minute).Format(time.RFC3339), "closesAt": now.Add(time.Hour).Format(time.RFC3339),
	}
	for name, value := range more {
		request[name] = value
	}
	if err := api.Ask(t.Context(), client.SeedFunction, request, nil); err != nil {
		t.Fatal(err)
	}
	return saleID
}

// state returns the state of the user's claim as the API shows it.
func state(t testing.TB, saleID, user string) string {
	t.Helper()
	token, err := api.Token(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	a, err := api.Mine(t.Context(), saleID, token)
	if err != nil {
		t.Fatal(err)
	}
	return a.Claim.State
}

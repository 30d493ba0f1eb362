// Command testfunction is a Lambda function for this package's tests; its event says
// what it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

type event struct {
	Mode string `json:"mode"`
	Text string `json:"text"`
	N    int    `json:"n"`
}

func main() {
	switch os.Getenv("INIT") {
	case "exit":
		fmt.Println("cannot go on")
		os.Exit(7)
	case "panic":
		panic("in main")
	case "hang":
		time.Sleep(time.Hour)
	case "report":
		report()
	case "deaf":
		answerOnce()
		time.Sleep(time.Hour)
	case "absent":
		answerOnce()
		// It asks for its next event, but does not wait for it.
		impatient := http.Client{Timeout: 100 * time.Millisecond}
		_, err := impatient.Get(runtime() + "invocation/next")
		fmt.Println("gone:", err)
		time.Sleep(time.Hour)
	}
	lambda.Start(handle)
}

func runtime() string {
	return "http://" + os.Getenv("AWS_LAMBDA_RUNTIME_API") + "/2018-06-01/runtime/"
}

// report reports a failed start to the Runtime API, as a misconfigured function does.
func report() {
	post("init/error", `{"errorType":"Config","errorMessage":"TABLE_NAME is missing"}`)
	os.Exit(1)
}

// answerOnce does what the runtime client does, for one event.
func answerOnce() {
	resp, err := http.Get(runtime() + "invocation/next")
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	post("invocation/"+resp.Header.Get("Lambda-Runtime-Aws-Request-Id")+"/response", strconv.Itoa(os.Getpid()))
}

func post(path, body string) {
	resp, err := http.Post(runtime()+path, "application/json", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
}

func handle(ctx context.Context, e event) (any, error) {
	switch e.Mode {
	case "echo":
		return e.Text, nil
	case "print":
		fmt.Println(e.Text)
		return "printed", nil
	case "error":
		return nil, errors.New("no luck")
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(e.N)
	case "exit-after-answer":
		// The answer is sent once this function returns.
		time.AfterFunc(50*time.Millisecond, func() { os.Exit(1) })
	case "sleep":
		time.Sleep(time.Duration(e.N) * time.Millisecond)
	case "hang":
		time.Sleep(time.Hour)
	case "deadline":
		deadline, _ := ctx.Deadline()
		return time.Until(deadline).Milliseconds(), nil
	case "big":
		return strings.Repeat("x", e.N), nil
	case "environment":
		return os.Environ(), nil
	}
	return os.Getpid(), nil
}

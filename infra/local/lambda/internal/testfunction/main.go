// Command testfunction is a Lambda function for this package's tests; its event says
// what it does.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
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
	case "hang":
		time.Sleep(time.Hour)
	case "report":
		report()
	}
	lambda.Start(handle)
}

// report reports a failed start to the Runtime API, as a misconfigured function does.
func report() {
	resp, err := http.Post("http://"+os.Getenv("AWS_LAMBDA_RUNTIME_API")+"/2018-06-01/runtime/init/error", "application/json",
		strings.NewReader(`{"errorType":"Config","errorMessage":"TABLE_NAME is missing"}`))
	if err != nil {
		panic(err)
	}
	_ = resp.Body.Close()
	os.Exit(1)
}

func handle(_ context.Context, e event) (any, error) {
	switch e.Mode {
	case "echo":
		return e.Text, nil
	case "error":
		return nil, errors.New("no luck")
	case "panic":
		panic("at the disco")
	case "exit":
		os.Exit(e.N)
	case "hang":
		time.Sleep(time.Hour)
	case "big":
		return strings.Repeat("x", e.N), nil
	case "environment":
		return os.Environ(), nil
	}
	return os.Getpid(), nil
}

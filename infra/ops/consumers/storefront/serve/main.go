// Command serve serves the example storefront. Its arguments are the address of a local stack, which must allow the page's
// origin, and a folder with pages in place of those in plain, such as react/dist:
//
//	make run PARAMETERS='CorsAllowedOrigins=http://127.0.0.1:3004'
//	go run ./infra/ops/consumers/storefront/serve http://127.0.0.1:3000
//
// http://127.0.0.1:3004/?sale=demo has a face of its own, http://127.0.0.1:3004/element.html?sale=demo the element.
package main

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/consumers/storefront"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "storefront:", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	api, files := "http://127.0.0.1:3000", fs.FS(nil)
	if len(arguments) > 0 {
		api = arguments[0]
	}
	if len(arguments) > 1 {
		files = os.DirFS(arguments[1])
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", cmp.Or(os.Getenv("STOREFRONT_PORT"), "3004")))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Printf("the storefront is at http://%s/?sale=demo, for %s; Ctrl-C stops it\n", l.Addr(), api)
	shop := storefront.New(client.New(api, client.Options{}), files)
	return (&http.Server{Handler: shop, ReadHeaderTimeout: 5 * time.Second}).Serve(l)
}

package deploy

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/smoke"
	"flashsale/infra/ops/target"
)

const (
	// saleTime is how long a smoke test's sale is open.
	saleTime = 10 * time.Minute
	// bound is how long a smoke test waits for the order's id.
	bound = 30 * time.Second
)

func fresh(prefix string) string { return prefix + "-" + strings.ToLower(rand.Text()[:12]) }

func smokeCommand(where *target.Flags) *cobra.Command {
	var saleID, origin string
	c := &cobra.Command{
		Use: "smoke", Short: "Test a running system as one buyer", Args: cli.Args(),
		Long: `Sends about twenty-five requests as one buyer, also such as must be refused. With the access token of a user without
a claim in $TOKEN, or where there is an issuer that admits test users, it buys a unit: of a sale of its own, unless one is given.`,
		Example: `  flashsale stack smoke
  flashsale stack smoke --env dev
  TOKEN=eyJ… flashsale stack smoke --url https://shop.example --sale moutai
  flashsale stack smoke --env dev --origin https://www.shop.example`,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := where.Find(c.Context())
			if err != nil {
				return err
			}
			r := smoke.Round{URL: p.API, Sale: saleID, Origin: origin, Token: os.Getenv("TOKEN"), Key: fresh("smoke"), Bound: bound}
			if r.Token == "" {
				made, err := p.Tokens(c.Context(), fresh("smoke-buyer"), 1)
				if err != nil && !errors.Is(err, target.ErrNotAllowed) && !errors.Is(err, target.ErrNoIssuer) {
					return err
				}
				r.Token = strings.Join(made, "")
			}
			if r.Sale == "" {
				r.Sale, r.LastUnit = fresh("smoke"), true
				now := time.Now()
				if err := p.Seed(c.Context(), client.Sale{
					ID: r.Sale, Name: "Smoke test", OpensAt: now.Add(-time.Second), ClosesAt: now.Add(saleTime), Stock: 1, Shards: 1,
				}); err != nil {
					return err
				}
			}
			if p.Functions[client.ReconcileFunction] != "" && r.LastUnit && r.Token != "" {
				r.Receipt = func(ctx context.Context) (string, error) { return p.Receipt(ctx, r.Sale) }
			}
			fmt.Fprintf(c.OutOrStdout(), "smoke test of %s with sale %s\n", p.API, r.Sale)
			rows := r.Run(c.Context())
			if c.Context().Err() != nil {
				return errors.New("repeat the command")
			}
			if err := smoke.Print(c.OutOrStdout(), rows); err != nil {
				return cli.Bad(err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&saleID, "sale", "", "an open `sale` (default: a new one of one unit)")
	c.Flags().StringVar(&origin, "origin", "", "the `origin` of a page of your own, such as https://www.shop.example, which CorsAllowedOrigins must name: try its requests, too")
	return c
}

func tokensCommand(where *target.Flags) *cobra.Command {
	var count int
	var path string
	c := &cobra.Command{
		Use: "tokens", Short: "Write access tokens of test users into a file", Args: cli.Args(),
		Long: `Gets tokens of new users from the local stack, or from the user pool of an environment that admits test users,
and writes one a line.`,
		Example: `  flashsale stack tokens --count 300 --out tokens
  flashsale stack tokens --env dev --count 300 --out tokens`,
		RunE: func(c *cobra.Command, _ []string) error {
			if path != "-" {
				if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o755), cli.CanWrite("out", path)); err != nil {
					return err
				}
			}
			p, err := where.Find(c.Context())
			if err != nil {
				return err
			}
			made, err := p.Tokens(c.Context(), "buyer", count)
			if err != nil {
				return err
			}
			text := strings.Join(made, "\n") + "\n"
			if path == "-" {
				_, err = io.WriteString(c.OutOrStdout(), text)
				return err
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return fmt.Errorf("write tokens: %w", err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%d access tokens are in %s; they are valid for about an hour\n", len(made), path)
			return err
		},
	}
	c.Flags().IntVar(&count, "count", 1, "`number` of users")
	c.Flags().StringVar(&path, "out", ".build/tokens", "the `file` (- is stdout)")
	return c
}

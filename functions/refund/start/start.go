// Package start wires RefundFunction.
package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"flashsale/functions/refund/handler"
	"flashsale/functions/refund/provider"
	"flashsale/shared/clock"
	"flashsale/shared/startup"
)

// Function serves the events of RefundFunction. It does not return.
func Function() {
	log, cfg, ledger := startup.Function("refund")
	arn, api := os.Getenv("REFUND_KEYS_ARN"), os.Getenv("API_URL")
	options := provider.Options{Now: clock.Wall}
	if arn == "" {
		log.FatalIf(errors.New("REFUND_KEYS_ARN is not set"))
	}
	if api != "" {
		options.NotifyURL = strings.TrimSuffix(api, "/") + "/payments/" + provider.WeChatPay
	}
	if text := os.Getenv("REFUND_PROVIDERS_URL"); text != "" {
		var err error
		if options.BaseURL, err = provider.LocalURL(text); err != nil {
			log.FatalIf(fmt.Errorf("REFUND_PROVIDERS_URL: %w", err))
		}
	}
	secrets := secretsmanager.NewFromConfig(cfg)
	h := handler.New(ledger, func(ctx context.Context) (map[string]provider.Provider, map[string]error, error) {
		out, err := secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &arn})
		if err != nil {
			return nil, nil, fmt.Errorf("read RefundKeysArn: %w", err)
		}
		return provider.FromSecret(aws.ToString(out.SecretString), options)
	}, log, clock.Wall)
	startup.Serve(log, startup.JSON(h.Handle))
}

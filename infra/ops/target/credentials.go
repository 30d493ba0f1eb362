package target

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	"github.com/aws/smithy-go/logging"
)

// CallTime bounds one call of an AWS service: the SDK's default has no limit.
const CallTime = 8 * time.Second

// pause is a variable for tests.
var pause = Pause

// Config loads the AWS configuration of a command, and gets its credentials, so that these fail once and before
// anything else. A command calls it once: a code of an MFA device is good for one session only. Region "" is that of
// the environment or of the profile.
func Config(ctx context.Context, region string) (aws.Config, error) {
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithRegion(region), config.WithRetryer(func() aws.Retryer { return Retryer(pause) }), config.WithLogger(logging.Nop{}),
		config.WithHTTPClient(awshttp.NewBuildableClient().WithTimeout(CallTime)),
		config.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) {
			o.Duration = cmp.Or(o.Duration, time.Hour) // as the AWS CLI; the SDK's is a quarter of that
			o.TokenProvider = func() (string, error) { return askCode(ctx, aws.ToString(o.SerialNumber)) }
		}),
		// Outside EC2 nobody answers there: it is asked once, as by the AWS CLI, and with its own client's short limits.
		config.WithEC2RoleCredentialOptions(func(o *ec2rolecreds.Options) { o.Client = imds.New(imds.Options{Retryer: aws.NopRetryer{}}) }),
	)
	if err == nil && cfg.Region == "" {
		err = explained{errors.New("missing region"), "no AWS region is known: set AWS_REGION", true}
	}
	if err == nil {
		_, err = cfg.Credentials.Retrieve(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return cfg, Explain(err)
}

// Within is a configuration with another limit of one call; 0 is none.
func Within(cfg aws.Config, limit time.Duration) aws.Config {
	if c, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok { // it knows AWS_CA_BUNDLE
		cfg.HTTPClient = c.WithTimeout(limit)
	}
	return cfg
}

// Terminal is where the person sits who has called the command, also if its stdin is a file.
var Terminal = func() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// askCode asks for the code of an MFA device.
func askCode(ctx context.Context, device string) (string, error) {
	at, err := Terminal()
	if err != nil {
		return "", explained{err, "the AWS profile's role takes a code of the MFA device " + device + ", and there is no terminal to ask for it: " +
			"run this on one, or set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN of a session", true}
	}
	defer at.Close()
	fmt.Fprintf(at, "Code of the MFA device %s: ", device)
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(at).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(at)
		return "", context.Cause(ctx)
	case code := <-typed:
		if code == "" {
			return "", explained{io.ErrUnexpectedEOF, "no code of the MFA device was given", true}
		}
		return code, nil
	}
}

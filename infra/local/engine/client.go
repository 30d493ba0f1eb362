package engine

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Region is the engine's nominal region.
const Region = "us-east-1"

// Client returns a DynamoDB client for an engine's URL. It makes one attempt
// per call and takes nothing from the environment, so it can never reach AWS.
func Client(endpoint string) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint:     aws.String(endpoint),
		Region:           Region,
		Credentials:      credentials.NewStaticCredentialsProvider("local", "local", ""),
		RetryMaxAttempts: 1,
		// With the default of ten idle connections, new ones would be opened all the
		// time under load.
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = 256
		}),
	})
}

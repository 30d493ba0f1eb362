package lambda

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"time"

	"flashsale/infra/local/template"
)

// environment returns the whole environment of a process of the function. Nothing is
// inherited from this process: a function must not work here because of a variable that
// is missing on AWS.
func (s *Service) environment(f Function, runtimeAPI string, now time.Time) []string {
	env := map[string]string{
		"AWS_ACCESS_KEY_ID":     "local",
		"AWS_SECRET_ACCESS_KEY": "local",
		"AWS_SESSION_TOKEN":     "local",
		// Not set by Lambda: it keeps the SDK from looking for an instance role.
		"AWS_EC2_METADATA_DISABLED": "true",
		"AWS_LAMBDA_LOG_FORMAT":     "JSON",
		"LANG":                      "en_US.UTF-8",
		"PATH":                      "/usr/local/bin:/usr/bin/:/bin:/opt/bin",
		"TZ":                        ":UTC",
	}
	maps.Copy(env, f.Env)
	maps.Copy(env, map[string]string{
		"AWS_REGION":                      template.Region,
		"AWS_DEFAULT_REGION":              template.Region,
		"AWS_LAMBDA_FUNCTION_NAME":        f.Name,
		"AWS_LAMBDA_FUNCTION_VERSION":     latest,
		"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": strconv.Itoa(f.MemoryMB),
		"AWS_LAMBDA_INITIALIZATION_TYPE":  "on-demand",
		"AWS_LAMBDA_LOG_GROUP_NAME":       "/aws/lambda/" + f.Name,
		"AWS_LAMBDA_LOG_STREAM_NAME":      now.UTC().Format("2006/01/02") + "/[" + latest + "]" + randomHex(16),
		"AWS_LAMBDA_RUNTIME_API":          runtimeAPI,
		"LAMBDA_TASK_ROOT":                filepath.Dir(f.Command),
		"_HANDLER":                        "bootstrap",
	})
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	return out
}

// newRequestID makes a random UUID, version 4.
func newRequestID() string {
	var b [16]byte
	// crypto/rand never fails.
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// newTraceID makes an X-Ray trace header with sampling off.
func newTraceID(now time.Time) string {
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", now.Unix(), randomHex(12), randomHex(8))
}

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

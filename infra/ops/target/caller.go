package target

import (
	"cmp"
	"context"
	"os"
	"os/user"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"flashsale/infra/kit/client"
	"flashsale/shared/sale"
)

// callerTime bounds the question who the caller is: stopping a sale must not wait for the answer.
const callerTime = 3 * time.Second

// Operator returns how to ask the system's OperateFunction: by invoking it, on AWS in the name of the
// owner of the credentials, as STS gives it, on the local stack or if that is not known in time in that
// of this machine's user. The function takes the name as it is told.
func (p *Target) Operator(ctx context.Context) client.Operator {
	o := client.Operator{Client: p.Client, Actor: os.Getenv("USER")}
	if u, err := user.Current(); err == nil {
		o.Actor = cmp.Or(u.Username, o.Actor)
	}
	o.Actor = cmp.Or(o.Actor, "operator")
	if p.Stack != "" {
		ctx, cancel := context.WithTimeout(ctx, callerTime)
		defer cancel()
		if caller, err := sts.NewFromConfig(p.AWS).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}); err == nil {
			arn := aws.ToString(caller.Arn) // ends with what tells callers apart
			o.Actor = cmp.Or(arn[max(0, len(arn)-sale.MaxActor):], o.Actor)
		}
	}
	return o
}

package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"
	"golang.org/x/mod/semver"

	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/target"
	"flashsale/shared/sale"
)

// errNoAnswer means that it is unknown whether the function did what it was asked.
var errNoAnswer = errors.New("no confirmation came")

// A request without an answer is repeated after askPause for as long as askTime, which an
// operator who wants to stop a sale can wait.
const askTime, askPause = time.Minute, time.Second

func (p *target) notef(format string, values ...any) { fmt.Fprintf(p.errors, format+"\n", values...) }

func (p *target) read(ctx context.Context, route string, path, query map[string]string, answer any) error {
	err := p.ask(ctx, client.OperatorRequest{Method: http.MethodGet, Route: route, Path: path, Query: query}, answer)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// operator is who asks OperateFunction. Once it is known, any goroutine may ask.
func (p *target) operator(ctx context.Context) (*client.Operator, error) {
	if p.asker == nil {
		where, err := p.system(ctx)
		if err != nil {
			return nil, err
		}
		p.asker = new(where.Operator(ctx))
	}
	return p.asker, nil
}

// ask makes a request to OperateFunction until it is answered, and fails with errNoAnswer if it never is. The
// request must be one that may be made twice.
func (p *target) ask(ctx context.Context, r client.OperatorRequest, answer any) error {
	asker, err := p.operator(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	for try := 1; ; try++ {
		a, err := asker.Operate(ctx, r)
		failure, passes := refused(a, err)
		switch {
		case failure == nil:
			if err := json.Unmarshal(a.Body, answer); err != nil {
				return fmt.Errorf("read the answer of %s: %w", client.OperateFunction, err)
			}
			return nil
		case !passes:
			return p.older(failure)
		case ctx.Err() != nil:
			return errNoAnswer
		case time.Since(began)+askPause > askTime:
			return fmt.Errorf("%w: %w", errNoAnswer, system.Explain(failure))
		}
		if try == 1 {
			p.notef("%v; asking again for %v", cli.OneLine(system.Explain(failure)), askTime)
		}
		time.Sleep(askPause)
	}
}

// older adds to a function's failure that its release is older than the command: it may not know the request yet.
func (p *target) older(err error) error {
	if _, refused := errors.AsType[refusal](err); p.found == nil || p.found.Version == "" || refused || semver.Compare("v"+p.found.Version, "v"+sale.ProgramVersion) >= 0 {
		return err
	}
	return fmt.Errorf("%w: the stack runs %s, and this is flashsale %s: use that release's, or deploy this one", err, p.found.Version, sale.ProgramVersion)
}

// post asks for something that may be asked for twice.
func (p *target) post(ctx context.Context, route, saleID string, request, answer any) error {
	var body strings.Builder
	to := json.NewEncoder(&body)
	to.SetEscapeHTML(false) // so that wire.MostMarks of the longest references are below the 96 KiB that it takes
	if err := to.Encode(request); err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	r := client.OperatorRequest{Method: http.MethodPost, Route: route, Body: body.String()}
	if saleID != "" {
		r.Path = map[string]string{"saleId": saleID}
	}
	return p.ask(ctx, r, answer)
}

// refusal is the function's answer that it does not do what was asked.
type refusal struct {
	error
	code sale.Code
}

// missing is the answer that there is none of what was asked for.
type missing struct{ error }

func noSuch(format string, values ...any) error { return missing{fmt.Errorf(format, values...)} }

// answered marks an error that is an answer, as a bad one: there is no such sale, or it refuses. What joins several
// is one if all are: with one that says nothing it is not known.
func answered(err error) error {
	if err != nil && cli.Code(err) == cli.ExitUnknown && isAnswer(err) {
		return cli.Bad(err)
	}
	return err
}

func isAnswer(err error) bool {
	switch e := err.(type) {
	case refusal, missing:
		return true
	case *sale.Error:
		return !slices.Contains([]sale.Code{sale.Busy, sale.Internal, sale.NewerVersion, sale.TooManyRequests, sale.Unauthorized, sale.Forbidden}, e.Code)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !isAnswer(one) })
	}
	return slices.Contains([]error{books.ErrNoSale, drawcheck.ErrNone, drawcheck.ErrNoDraw}, err) || errors.Unwrap(err) != nil && isAnswer(errors.Unwrap(err))
}

// refused is why an answer is not the one that was asked for; passes: the same request may get that answer later.
func refused(a client.Answer, err error) (failure error, passes bool) {
	if service, ok := errors.AsType[smithy.APIError](err); ok {
		return err, !system.IsUnusable(err) && (service.ErrorFault() != smithy.FaultClient || service.ErrorCode() == "TooManyRequestsException")
	}
	switch {
	case err != nil:
		return err, !errors.Is(err, client.ErrNoFunctions) && !system.IsUnusable(err)
	case a.Status == http.StatusOK:
		return nil, false
	case a.Code == "" || a.Code == string(sale.Busy):
		return fmt.Errorf("%s answered %v", client.OperateFunction, a), a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError
	}
	var problem struct{ Detail string }
	text := a.Code
	if json.Unmarshal(a.Body, &problem) == nil && problem.Detail != "" {
		text += ": " + problem.Detail
		if a.Code == string(sale.Conflicting) {
			text = problem.Detail
		}
	}
	if a.Status >= http.StatusInternalServerError {
		return errors.New(text), false
	}
	return refusal{errors.New(text), sale.Code(a.Code)}, false
}

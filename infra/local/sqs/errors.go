package sqs

import (
	"fmt"
	"net/http"
)

// A fault is an error answer of the service. The names of an error differ for
// historical reasons: shape is its name in the JSON protocol, code the one of the older
// query protocol, which clients still compare with.
type fault struct {
	status               int
	shape, code, message string
}

func (f *fault) Error() string { return f.code + ": " + f.message }

const (
	modelled   = "com.amazonaws.sqs#"
	unmodelled = "com.amazon.coral.service#"
	legacy     = "AWS.SimpleQueueService."
)

var (
	errNoQueue     = &fault{400, modelled + "QueueDoesNotExist", legacy + "NonExistentQueue", "The specified queue does not exist."}
	errHandle      = &fault{404, modelled + "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", "The input receipt handle is invalid."}
	errNotInFlight = &fault{400, modelled + "MessageNotInflight", legacy + "MessageNotInflight", "The specified message isn't in flight."}
	errClosed      = &fault{503, unmodelled + "ServiceUnavailableException", "ServiceUnavailable", "The queue server is stopping."}
)

func errUnknownAttribute(name string) *fault {
	return &fault{400, modelled + "InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute " + name + "."}
}

func errParameter(format string, args ...any) *fault {
	return &fault{400, unmodelled + "InvalidParameterValueException", "InvalidParameterValue", fmt.Sprintf(format, args...)}
}

// errUnsupported: nothing here sends this, so it does not run locally. AWS might answer it.
func errUnsupported(what string) *fault {
	return &fault{http.StatusBadRequest, modelled + "UnsupportedOperation", legacy + "UnsupportedOperation", "Not supported by this queue: " + what}
}

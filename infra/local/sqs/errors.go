package sqs

import (
	"fmt"
	"net/http"
)

// A fault is an error answer of the service. The names of an error differ for
// historical reasons: shape is its name in the JSON protocol, code the one of the older
// query protocol, which clients still compare with.
type fault struct {
	status  int
	shape   string
	code    string
	message string
}

func (f *fault) Error() string { return f.code + ": " + f.message }

// sender reports whether the caller caused the fault.
func (f *fault) sender() bool { return f.status < http.StatusInternalServerError }

const (
	modelled   = "com.amazonaws.sqs#"
	unmodelled = "com.amazon.coral.service#"
	legacy     = "AWS.SimpleQueueService."
)

func newFault(status int, shape, code, format string, args ...any) *fault {
	return &fault{status: status, shape: shape, code: code, message: fmt.Sprintf(format, args...)}
}

func errNoQueue() *fault {
	return newFault(400, modelled+"QueueDoesNotExist", legacy+"NonExistentQueue", "The specified queue does not exist.")
}

func errQueueExists(attribute string) *fault {
	return newFault(400, modelled+"QueueNameExists", "QueueAlreadyExists",
		"A queue already exists with the same name and a different value for attribute %s", attribute)
}

func errUnknownAttribute(name string) *fault {
	return newFault(400, modelled+"InvalidAttributeName", "InvalidAttributeName", "Unknown Attribute %s.", name)
}

func errAttributeValue(format string, args ...any) *fault {
	return newFault(400, modelled+"InvalidAttributeValue", "InvalidAttributeValue", format, args...)
}

func errContents() *fault {
	return newFault(400, modelled+"InvalidMessageContents", "InvalidMessageContents",
		"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | [#x20 to #xD7FF] | [#xE000 to #xFFFD] | [#x10000 to #x10FFFF]")
}

func errHandle(handle string) *fault {
	return newFault(404, modelled+"ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid",
		"The input receipt handle \"%s\" is not a valid receipt handle.", handle)
}

func errNotInFlight() *fault {
	return newFault(400, modelled+"MessageNotInflight", legacy+"MessageNotInflight", "The specified message isn't in flight.")
}

func errUnsupported(format string, args ...any) *fault {
	return newFault(400, modelled+"UnsupportedOperation", legacy+"UnsupportedOperation", format, args...)
}

func errParameter(format string, args ...any) *fault {
	return newFault(400, unmodelled+"InvalidParameterValueException", "InvalidParameterValue", format, args...)
}

func errMissing(name string) *fault {
	return newFault(400, unmodelled+"MissingRequiredParameterException", "MissingParameter",
		"The request must contain the parameter %s.", name)
}

func errClosed() *fault {
	return newFault(503, unmodelled+"ServiceUnavailableException", "ServiceUnavailable", "The queue server is stopping.")
}

func errUnknownOperation(name string) *fault {
	return newFault(400, unmodelled+"UnknownOperationException", "UnknownOperationException",
		"The operation %q is not served by this queue.", name)
}

func errSerialization(err error) *fault {
	return newFault(400, unmodelled+"SerializationException", "SerializationException", "%v", err)
}

func errInternal(err error) *fault {
	return newFault(500, unmodelled+"InternalFailure", "InternalFailure", "%v", err)
}

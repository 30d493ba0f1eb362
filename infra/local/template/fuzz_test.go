package template

import (
	"errors"
	"testing"
)

func FuzzParseNeverPanicsAndNamesItsErrors(f *testing.F) {
	f.Add([]byte(replace(oneVariable, "!Sub ['${W}-${Word}', {W: !Ref T}]")))
	f.Add([]byte(parameters))
	f.Add([]byte("Resources: {A: {Type: AWS::SQS::Queue, Properties: {QueueName: !Sub '${A}'}}}"))
	f.Add([]byte(replace(function, "Events: {E: {Type: SQS, Properties: {Queue: !GetAtt Q.Arn}}}")))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("t", text, Options{})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("error %v is not an *Error", err)
		}
		if (s == nil) == (err == nil) {
			t.Errorf("stack %v with error %v", s, err)
		}
	})
}

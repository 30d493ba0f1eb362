package preflight

import (
	"fmt"
	"os"

	"flashsale/infra/local/cloudformation"
)

// replacing are the properties whose change replaces a resource: the new one has a different
// address under the same logical id.
var replacing = []string{"TableName", "QueueName", "LogGroupName", "Name", "KeySchema", "FifoQueue"}

// Read evaluates the template at path with the parameters of one deployment. A reference to
// another resource becomes a text that changes if the deployment replaces the resource, whose
// real name only CloudFormation knows.
func Read(path, region string, parameters map[string]string) (t *cloudformation.Template, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	o := cloudformation.Options{Parameters: parameters, Keep: true, Pseudo: map[string]string{"AWS::Region": region}}
	for _, name := range []string{"AWS::StackName", "AWS::StackId", "AWS::AccountId", "AWS::Partition", "AWS::URLSuffix"} {
		o.Pseudo[name] = name
	}
	o.Lookup = func(r cloudformation.Resource, attribute string) (string, error) {
		says := r.ID + "." + attribute
		for _, property := range replacing {
			n := cloudformation.Member(r.Properties, property)
			if n == nil {
				continue
			}
			value, err := t.Value(n)
			if err != nil {
				return "", err
			}
			says += fmt.Sprint(" ", value)
		}
		return says, nil
	}
	if t, err = cloudformation.Parse(text, o); err != nil {
		return nil, fmt.Errorf("parse template: %w", err)
	}
	return t, nil
}

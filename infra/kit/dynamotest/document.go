package dynamotest

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write puts a value, or nothing if v is nil, where the path leads. The item's
// own map must be fresh; lists and maps below it are shared with other versions
// and replaced on the way.
func (it item) write(p path, v types.AttributeValue) error {
	name := p[0].name
	if len(p) > 1 {
		child, err := written(it[name], p[1:], v)
		if err != nil {
			return err
		}
		v = child
	}
	if v == nil {
		delete(it, name)
		return nil
	}
	it[name] = v
	return nil
}

// written is the map or list with the value put where the path leads.
func written(in types.AttributeValue, p path, v types.AttributeValue) (types.AttributeValue, error) {
	switch in := in.(type) {
	case *types.AttributeValueMemberM:
		if p[0].name == "" {
			return nil, invalidPath()
		}
		out := item(maps.Clone(in.Value))
		if err := out.write(p, v); err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberM{Value: out}, nil
	case *types.AttributeValueMemberL:
		if p[0].name != "" {
			return nil, invalidPath()
		}
		out, err := writtenList(slices.Clone(in.Value), p, v)
		if err != nil {
			return nil, err
		}
		return &types.AttributeValueMemberL{Value: out}, nil
	}
	return nil, invalidPath()
}

// writtenList changes a fresh list. Beyond its end a value is appended, as
// DynamoDB does, and a removal does nothing.
func writtenList(list []types.AttributeValue, p path, v types.AttributeValue) ([]types.AttributeValue, error) {
	at, inside := p[0].index, p[0].index < len(list)
	switch {
	case len(p) > 1 && !inside:
		return nil, invalidPath()
	case len(p) > 1:
		child, err := written(list[at], p[1:], v)
		list[at] = child
		return list, err
	case v == nil && inside:
		return slices.Delete(list, at, at+1), nil
	case v == nil:
		return list, nil
	case inside:
		list[at] = v
		return list, nil
	}
	return append(list, v), nil
}

// pick is the part of an item which the paths lead to; nil if nothing is.
// Elements of lists close up, in their order.
func (it item) pick(paths []path) item {
	if it == nil {
		return nil
	}
	if part, ok := pickValue(&types.AttributeValueMemberM{Value: it}, paths).(*types.AttributeValueMemberM); ok {
		return part.Value
	}
	return nil
}

func pickValue(v types.AttributeValue, paths []path) types.AttributeValue {
	below := map[step][]path{}
	for _, p := range paths {
		if len(p) == 0 {
			return v
		}
		below[p[0]] = append(below[p[0]], p[1:])
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberM:
		out := map[string]types.AttributeValue{}
		for at, rest := range below {
			if at.name == "" || v.Value[at.name] == nil {
				continue
			}
			if part := pickValue(v.Value[at.name], rest); part != nil {
				out[at.name] = part
			}
		}
		if len(out) > 0 {
			return &types.AttributeValueMemberM{Value: out}
		}
	case *types.AttributeValueMemberL:
		var out []types.AttributeValue
		for i, element := range v.Value {
			if rest, ok := below[step{index: i}]; ok {
				if part := pickValue(element, rest); part != nil {
					out = append(out, part)
				}
			}
		}
		if len(out) > 0 {
			return &types.AttributeValueMemberL{Value: out}
		}
	}
	return nil
}

// picked is what a projection answers of an item: nil for no item, and an empty
// one for an item that has nothing of it.
func (it item) picked(paths []path) item {
	part := it.pick(paths)
	if it != nil && part == nil {
		return item{}
	}
	return part
}

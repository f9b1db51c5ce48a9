package discussion

import (
	"encoding/json"
	"fmt"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
)

// list says how a list of objects is read from an answer.
type list struct {
	name   string        // name of the field that has the list
	inside *answer.Shape // an object with that field
	bare   *answer.Shape // the list without the object
}

// listOfEntries returns the list of that name, whose entries may have these fields, and others.
// A bad value invalidates no other: fields have any type, and in a field of a known name only
// the name is mended, as in all answers (case, dashes, underscores).
func listOfEntries(name string, fields map[string]any) list {
	array := map[string]any{"type": "array", "items": map[string]any{"type": "object", "properties": fields}}
	inside := answer.MustFromSchema(string(agent.JSON(map[string]any{"type": "object", "required": []string{name}, "properties": map[string]any{name: array}})))
	array["minItems"] = 1
	return list{name: name, inside: inside, bare: answer.MustFromSchema(string(agent.JSON(array)))}
}

// anyOf are fields of these names with any values.
func anyOf(names ...string) map[string]any {
	fields := map[string]any{}
	for _, name := range names {
		fields[name] = struct{}{}
	}
	return fields
}

// entries returns the objects of the list in an answer: under its name, or without one.
// Numbers are as they were written. extra has the names of the fields that were left out.
func (l list) entries(text string) (entries []map[string]any, extra []string, err error) {
	found, extra, err := l.inside.Loose(nil, text)
	if err == nil {
		object, err := answer.Decode[map[string]json.RawMessage](found)
		if err != nil {
			return nil, nil, err
		}
		found = object[l.name]
	} else if bare, more, none := l.bare.Loose(nil, text); none == nil {
		found, extra = bare, more
	} else {
		return nil, nil, fmt.Errorf("want a JSON object with %q: %w", l.name, err)
	}
	entries, err = answer.Decode[[]map[string]any](found)
	return entries, extra, err
}

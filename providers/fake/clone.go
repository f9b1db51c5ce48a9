package fake

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/convene-go/convene/providers"
)

// cloneRequest returns a deep copy of r, except OnText.
func cloneRequest(r providers.Request) providers.Request {
	r.Messages = slices.Clone(r.Messages)
	for i := range r.Messages {
		r.Messages[i].ToolCalls = cloneCalls(r.Messages[i].ToolCalls)
		r.Messages[i].Parts = providers.CloneParts(r.Messages[i].Parts)
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		r.Tools[i].Input = slices.Clone(r.Tools[i].Input)
	}
	r.Output = slices.Clone(r.Output)
	if r.Temperature != nil {
		r.Temperature = new(*r.Temperature)
	}
	r.Params = providers.CloneParams(r.Params)
	return r
}

func cloneCalls(calls []providers.ToolCall) []providers.ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		calls[i].Input = slices.Clone(calls[i].Input)
		calls[i].Extra = slices.Clone(calls[i].Extra)
	}
	return calls
}

// sum is a hash of a request without OnText.
func sum(r providers.Request) [sha256.Size]byte {
	text := fmt.Sprintf("%q %q %q %q %d", r.Messages, r.Tools, r.ToolChoice, r.Output, r.MaxTokens)
	if r.Temperature != nil {
		text += fmt.Sprint(" ", *r.Temperature)
	}
	if params := reflect.ValueOf(r.Params); !params.IsZero() {
		data, _ := json.Marshal(r.Params) // Params without a JSON form are taken as equal
		text += string(data)
	}
	return sha256.Sum256([]byte(text))
}

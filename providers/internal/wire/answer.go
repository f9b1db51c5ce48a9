package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/schema"
)

// Answer is the model's answer so far. A [Talk] fills it.
type Answer struct {
	Calls   []*Call         // tool calls so far
	Refusal strings.Builder // the model's words for not answering
	Stop    string          // the vendor's word for why it ended; "": it has not ended
	Usage   providers.Usage // usage as reported so far; zero: not reported
	Extra   json.RawMessage // value that must go back to the vendor with the calls; the first one has it

	// What Ask sets.
	Tool  string        // the tool whose input is the answer; "": none
	Alone bool          // no other tool may be called
	Nulls *schema.Nulls // removes nulls from the text; nil: no change

	text     strings.Builder
	told     bool // OnText got some of the text
	heard    int  // bytes of words, thoughts and inputs
	exchange *exchange
}

// Call is an unfinished tool call.
type Call struct {
	ID, Name string          // ID and name so far; "": they have not come
	Extra    json.RawMessage // value that must go back with this call; nil: none
	input    bytes.Buffer
}

// Text returns the text so far.
func (a *Answer) Text() string { return a.text.String() }

// Say adds text to the answer, and passes it to the caller.
func (a *Answer) Say(text string) error {
	a.Heard(len(text))
	if a.Nulls != nil {
		text = a.Nulls.Write(text)
	}
	a.text.WriteString(text)
	if a.Tool != "" || !a.exchange.streamed {
		return nil // the answer comes as a tool's input, if it does; or it is here
	}
	return a.tell(text)
}

// Heard counts n bytes of an answer, text or thoughts.
func (a *Answer) Heard(n int) {
	if a.heard += n; a.heard > 0 && a.exchange.streamed {
		a.exchange.silence.begun()
	}
}

// Input adds a piece to the input of a call.
func (a *Answer) Input(c *Call, piece string) error {
	a.Heard(len(piece))
	c.input.WriteString(piece)
	if a.Tool == "" || c.Name != a.Tool || !a.Alone || !a.exchange.streamed {
		return nil
	}
	return a.tell(piece)
}

// Call returns the i-th call, and creates a new one.
func (a *Answer) Call(i int) *Call {
	for len(a.Calls) <= i {
		a.Calls = append(a.Calls, &Call{})
	}
	return a.Calls[i]
}

// HasInput says whether the input of c is complete.
func (c *Call) HasInput() bool { return json.Valid(c.input.Bytes()) }

// tell passes text to the caller's OnText.
func (a *Answer) tell(text string) error {
	onText := a.exchange.req.OnText
	if onText == nil || text == "" {
		return nil
	}
	a.told = true
	if err := onText(text); err != nil {
		return fmt.Errorf("%w: %w", errCallback, err)
	}
	return nil
}

// response makes a Response from the answer.
func (m *Model) response(ex *exchange) (providers.Response, error) {
	a := &ex.answer
	if a.Nulls != nil {
		rest := a.Nulls.Rest()
		a.text.WriteString(rest)
		if a.told {
			if err := a.tell(rest); err != nil {
				return providers.Response{}, err
			}
		}
	}
	resp := providers.Response{Text: a.text.String(), Usage: a.Usage, Model: m.spec.String()}
	if err := a.takeCalls(&resp); err != nil {
		return providers.Response{}, err
	}
	resp.Stop = StopOf(a.Stop, resp)
	if a.Refusal.Len() > 0 {
		resp.Text, resp.Stop = a.Refusal.String(), providers.StopFilter
	}
	if resp.Stop == providers.StopFilter {
		resp.ToolCalls = nil
	}
	empty := resp.Text == "" && len(resp.ToolCalls) == 0
	switch {
	case empty && resp.Stop != providers.StopLength && resp.Stop != providers.StopFilter:
		return providers.Response{}, errUnusable
	case strings.EqualFold(a.Stop, "network_error"): // GLM's own
		return providers.Response{}, errBroken
	case a.told, resp.Stop == providers.StopFilter:
		return resp, nil
	}
	return resp, a.tell(resp.Text)
}

// takeCalls adds the calls to resp, or makes its text from the input of the tool that is
// the answer. Beside other calls, that was called too early and is dropped.
func (a *Answer) takeCalls(resp *providers.Response) error {
	var answer json.RawMessage
	for i, c := range a.Calls {
		if c.Name == "" && c.input.Len() == 0 && c.ID == "" {
			continue // servers begin to count at 1
		}
		input := toolInput(c.input.String())
		if a.Tool != "" && c.Name == a.Tool {
			answer = json.RawMessage(strings.TrimSpace(c.input.String()))
			continue
		}
		call := providers.ToolCall{ID: c.ID, Name: c.Name, Input: input, Extra: c.Extra}
		if call.ID == "" { // unique in the conversation, of which this is the next turn
			call.ID = fmt.Sprintf("call_%d_%d", len(a.exchange.req.Messages), i)
		}
		resp.ToolCalls = append(resp.ToolCalls, call)
	}
	if len(resp.ToolCalls) > 0 && resp.ToolCalls[0].Extra == nil {
		resp.ToolCalls[0].Extra = slices.Clone(a.Extra)
	}
	if len(answer) > 0 && len(resp.ToolCalls) == 0 {
		if a.told && !a.Alone {
			return errors.New("the answer was told twice") // impossible: nothing is told before
		}
		resp.Text = string(answer)
	}
	return nil
}

// StopOf translates a finish reason of any vendor. Some servers say stop for tool calls,
// too.
func StopOf(reason string, resp providers.Response) providers.Stop {
	switch reason = strings.ToLower(reason); {
	case reason == "length", reason == "max_tokens", reason == "max_output_tokens", reason == "model_context_window_exceeded":
		return providers.StopLength
	case strings.HasPrefix(reason, "content_filter"), filters[reason]:
		return providers.StopFilter
	case len(resp.ToolCalls) > 0:
		return providers.StopTools
	case reason == "stop", reason == "end_turn", reason == "stop_sequence", reason == "completed":
		return providers.StopEnd
	case reason == "tool_use" && resp.Text != "": // the answer was a tool's input
		return providers.StopEnd
	}
	return providers.StopUnknown
}

// filters are the words of Anthropic, Bedrock, GLM and Gemini for a refusal.
var filters = map[string]bool{
	"refusal": true, "sensitive": true, "guardrail_intervened": true,
	"safety": true, "recitation": true, "blocklist": true, "prohibited_content": true, "spii": true,
}

// Count is a number of tokens. Some servers write it with a decimal point, or as a text;
// what is not a number is below 0, which [Counted] ignores.
type Count int64

// UnmarshalJSON reads a number in any of these forms, and leaves null alone.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	const most = 1 << 41
	x, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil || !(x >= 0 && x < most) { // NaN too
		x = -1
	}
	*c = Count(x)
	return nil
}

// Counted returns u, or nothing if it has an impossible count: then the cost of the call
// is unknown.
func Counted(u providers.Usage) providers.Usage {
	for _, tokens := range []int64{u.Input, u.Output, u.Reasoning, u.CacheRead, u.CacheWrite} {
		if tokens < 0 || tokens > 1<<40 {
			return providers.Usage{}
		}
	}
	return u
}

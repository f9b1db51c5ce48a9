// Package agent says what an agent is: a value that answers requests. It knows
// nothing of flows and engines; authors of agents need only this package.
package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// An Agent answers requests. It runs outside of flow code, so it may use clock,
// disk, network and goroutines. Call is safe for concurrent use, returns when ctx
// is done, leaves no goroutine running, and does not change req.
//
// An agent that has not returned [Limits.Grace] after ctx was done is left behind:
// its call has failed, and of what it returns later only the Usage is counted.
//
// A call that was under way when the process died is made again with the same
// InfoFrom(ctx).Key. An agent with side effects uses the Key to act once.
//
// Errors reach the flow as *[Error]. Only those marked by [Transient], or a
// *providers.Error of a transient kind, are retried. A Response beside an error is
// dropped but for its Usage. A panic becomes an error.
type Agent interface {
	Call(ctx context.Context, req Request) (Response, error)
}

// Func makes an [Agent] of a function.
type Func func(ctx context.Context, req Request) (Response, error)

// Call calls f.
func (f Func) Call(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Roster holds the agents of a host by name. Engines copy it.
type Roster map[string]Agent

// Request is plain data: it reaches the agent the same on every engine.
type Request struct {
	Op          string              `json:"op,omitempty"`          // operation of an agent that has several; "": it has one
	Task        string              `json:"task,omitempty"`        // task or step that the call is for, for people, logs and tests; not in the prompt; "": none
	Prompt      string              `json:"prompt,omitempty"`      // message to the agent
	History     []providers.Message `json:"history,omitempty"`     // conversation before Prompt
	Input       json.RawMessage     `json:"input,omitempty"`       // data for the agent as JSON, see JSON
	Output      json.RawMessage     `json:"output,omitempty"`      // JSON Schema of the wanted answer; orchestrator.Ask sets it
	Temperature *float64            `json:"temperature,omitempty"` // temperature of the model; nil: its default
	Parts       []providers.Part    `json:"parts,omitempty"`       // images and documents, behind Prompt and Input
	Params      providers.Params    `json:"params,omitzero"`       // further settings of the model
	Limits      Limits              `json:"limits,omitzero"`       // bounds of the call; zero: none
	Folded      int                 `json:"folded,omitempty"`      // turns for the last prompt that History does not show any more; Continue sets it, see LLM.Compact
}

// Limits bound one call. A zero field sets no limit. The engine enforces Timeout,
// Total, Attempts and Grace; the agent enforces Slice, ToolCalls, MaxTokens, Cost, Calls
// and Tokens.
// Limits say how something is asked, not what: they may change between a run and
// its resumption.
type Limits struct {
	Timeout   time.Duration     `json:"timeout,omitempty"`   // time of one attempt: then ctx is done, and the attempt has failed transiently
	Total     time.Duration     `json:"total,omitempty"`     // time of all attempts and the waits between them: then the call has failed
	Grace     time.Duration     `json:"grace,omitempty"`     // time to return after the call was canceled or overdue, before the agent is left behind; 0: 1 s. An LLM gives a tool as long at the end of a Slice
	Attempts  int               `json:"attempts,omitempty"`  // attempts at transient errors, the first included; 0: the engine's default
	Slice     time.Duration     `json:"slice,omitempty"`     // time of one part of a tool loop: then the agent stops its tools and returns, Response.More set
	ToolCalls int               `json:"toolCalls,omitempty"` // tool calls of one part of a tool loop: then the agent returns, Response.More set
	MaxTokens int               `json:"maxTokens,omitempty"` // tokens of the answer
	Repairs   int               `json:"repairs,omitempty"`   // number of times that Ask sends back an answer that does not fit; 0: once, -1: never
	Cost      providers.NanoUSD `json:"cost,omitempty"`      // money for the call, in nano-USD; the budget sets it, the agent keeps to it
	Calls     int64             `json:"calls,omitempty"`     // calls of models for the call; likewise. What the flow sets is reserved under a limit on calls
	Tokens    int64             `json:"tokens,omitempty"`    // tokens of input and output for the call; likewise. What the flow sets is reserved under a limit on tokens
	Estimate  providers.NanoUSD `json:"estimate,omitempty"`  // money reserved before the call, in nano-USD; 0: nothing, then calls under way can overshoot a budget

	AllowUnpriced bool `json:"allowUnpriced,omitempty"` // under Cost, a model without a known price may be asked; the budget sets it
}

// Response is an answer. The flow owns it; engines record it. Each text is in it
// once: the answer is Text or Data, and Messages has neither the answer nor the
// Prompt. [Continue] puts the conversation together.
// Messages is all that was said, also what Compactions left out afterwards.
type Response struct {
	Text     string              `json:"text,omitempty"`     // the answer in words, or as a model's JSON (orchestrator.Ask reads it)
	Data     json.RawMessage     `json:"data,omitempty"`     // the answer of agents that answer in JSON without words
	Messages []providers.Message `json:"messages,omitempty"` // said between the prompt and the answer: tool calls and their results
	More     bool                `json:"more,omitempty"`     // a slice ended, the work did not
	Usage    providers.Usage     `json:"usage,omitzero"`     // usage of the call
	Elapsed  time.Duration       `json:"elapsed,omitempty"`  // time of all attempts; the engine sets it

	// Dropped has the names of extra fields, which orchestrator.Ask has left
	// out of what it read. It is set in a flow: agents leave it empty.
	Dropped []string `json:"dropped,omitempty"`

	// Fallbacks are the turns that another model than the first one of a
	// providers.Chain answered.
	Fallbacks []Fallback `json:"fallbacks,omitempty"`

	// Compactions say how the conversation was made shorter during the call, in order.
	// [Continue] makes it shorter in the same way.
	Compactions []Compaction `json:"compactions,omitempty"`
}

// Fallback says which model answered a turn, and why those before it did not.
type Fallback struct {
	Turn   int      `json:"turn"`   // turn of the tool loop, from 1
	Model  string   `json:"model"`  // model that answered, as provider:name
	Before []string `json:"before"` // errors of the models before it, without keys and prompts
}

// JSON encodes v for Request.Input, without escapes for HTML. It panics if v has no
// JSON form: a mistake in the program.
func JSON(v any) json.RawMessage {
	data, err := text.JSON(v)
	if err != nil {
		panic(fmt.Sprintf("agent: JSON of %T: %v", v, err))
	}
	return data
}

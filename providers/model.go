package providers

import (
	"context"
	"encoding/json"
)

// A Model answers one request. Implementations are safe for concurrent use,
// return when ctx is done, make one attempt, and report failures as *[Error]: an
// error of another type counts as permanent.
type Model interface {
	Generate(ctx context.Context, req Request) (Response, error)
}

// ModelFunc makes a [Model] of a function.
type ModelFunc func(ctx context.Context, req Request) (Response, error)

// Generate calls f.
func (f ModelFunc) Generate(ctx context.Context, req Request) (Response, error) { return f(ctx, req) }

// Request is one call of a model. A Model keeps neither it nor its slices.
type Request struct {
	Messages    []Message                // conversation so far, at least one message that is not the system's
	Tools       []Tool                   // tools that the model may call; nil: none
	ToolChoice  string                   // "": the model's choice; "none", "required", or a tool's name
	Output      json.RawMessage          // JSON Schema of the answer; nil: free text
	MaxTokens   int                      // tokens of the answer at most; 0: the model's default
	Temperature *float64                 // 0 to 2; nil: not sent. A Spec's takes precedence
	OnText      func(chunk string) error // gets the answer as it comes; an error ends the call; nil: not used
	Params
}

// Response is a model's answer. The caller owns it.
type Response struct {
	Text      string     // words of the answer; "": it has only ToolCalls
	ToolCalls []ToolCall // calls that the model asks for; nil: none
	Stop      Stop       // reason why the answer ended
	Usage     Usage      // usage of the call
	Model     string     // the one that answered, as provider:name
	Before    []*Error   // failures of a [Chain]'s models before the one that answered; recorded as agent.Response.Fallbacks
}

// Stop says why a model stopped.
type Stop string

// The reasons to stop. Any other reason of a vendor is StopUnknown.
const (
	StopEnd     Stop = "end"     // it had no more to say
	StopLength  Stop = "length"  // MaxTokens, or the model's own limit: the answer is cut off
	StopTools   Stop = "tools"   // it wants tools to be called
	StopFilter  Stop = "filter"  // it refused, or a filter did; Text may hold the refusal
	StopUnknown Stop = "unknown" // the vendor did not say, or said something else
)

// Message is one turn of a conversation, independent of vendors. System messages at the
// beginning are the instructions. A system message after others applies from there on:
// the vendor gets it in its place, as a system message where it takes one there, else as
// a reminder in the user's turn.
type Message struct {
	Role      Role       `json:"role"`                // author of the message
	Text      string     `json:"text,omitempty"`      // words of the message; "": none
	Parts     []Part     `json:"parts,omitempty"`     // images and documents of a User or ToolRole, after Text; nil: none
	ToolCalls []ToolCall `json:"toolCalls,omitempty"` // calls that an Assistant asked for; nil: none
	ToolID    string     `json:"toolID,omitempty"`    // ID of the call that a ToolRole answers
}

// Role says who wrote a message.
type Role string

// The roles of messages.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Tool is a function that a model may call.
type Tool struct {
	Name        string          // name, unique in a request
	Description string          // words that tell the model what the tool does
	Input       json.RawMessage // JSON Schema of the arguments; nil: none
}

// ToolCall is a model's request to call a tool.
type ToolCall struct {
	ID    string          `json:"id"`              // ID, unique in a conversation
	Name  string          `json:"name"`            // name of the tool
	Input json.RawMessage `json:"input,omitempty"` // arguments as JSON; nil: none
	Extra json.RawMessage `json:"extra,omitempty"` // must be sent back to the vendor; opaque
}

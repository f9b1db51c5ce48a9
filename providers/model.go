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
	Messages    []Message
	Tools       []Tool
	ToolChoice  string                   // "": the model's choice; "none", "required", or a tool's name
	Output      json.RawMessage          // JSON Schema of the wanted answer; nil: free text
	MaxTokens   int                      // of the answer; 0: the model's default
	Temperature *float64                 // 0 to 2; nil: not sent. A Spec's stands over it
	OnText      func(chunk string) error // nil: nobody reads along; an error ends the call
	Params
}

// Response is a model's answer. The caller owns it.
type Response struct {
	Text      string
	ToolCalls []ToolCall
	Stop      Stop
	Usage     Usage
	Model     string   // the one that answered, as provider:name
	Before    []*Error // of a [Chain]: why the models before that one did not answer; agent.Response.Fallbacks has it on record
}

// Stop says why a model stopped.
type Stop string

// The reasons to stop. What a vendor says beyond them is StopUnknown.
const (
	StopEnd     Stop = "end"     // it had no more to say
	StopLength  Stop = "length"  // MaxTokens, or the model's own limit: the answer is cut off
	StopTools   Stop = "tools"   // it wants tools to be called
	StopFilter  Stop = "filter"  // it refused, or a filter did; Text may hold the refusal
	StopUnknown Stop = "unknown" // the vendor did not say, or said something else
)

// Message is one turn of a conversation, independent of vendors. The system's at the
// beginning are the instructions. One of the system's behind others counts from there
// on: the vendor gets it in its place, as a message of the system's where it takes one
// there, else as a reminder in the user's turn.
type Message struct {
	Role      Role       `json:"role"`
	Text      string     `json:"text,omitempty"`
	Parts     []Part     `json:"parts,omitempty"`     // of a User or ToolRole: images and documents, behind Text
	ToolCalls []ToolCall `json:"toolCalls,omitempty"` // of an Assistant
	ToolID    string     `json:"toolID,omitempty"`    // of a ToolRole: which call it answers
}

// Role says who speaks.
type Role string

// The roles of messages.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Tool is what a model may ask to be called.
type Tool struct {
	Name        string
	Description string
	Input       json.RawMessage // JSON Schema of the arguments; nil: none
}

// ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input,omitempty"`
	Extra json.RawMessage `json:"extra,omitempty"` // what the vendor wants to see again; opaque
}

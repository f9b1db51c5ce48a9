package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
)

// ErrRefused says that a model, or its vendor's filter, refused to answer. The
// error's text has the model's words.
const ErrRefused = Code("refused")

// LLM is an agent made of a model. It is safe for concurrent calls and keeps no
// conversation: Request.History brings it, and Response.Messages has what to add.
//
// Request.Prompt becomes the user's message, with Request.Input behind it as
// delimited data; neither ever becomes a system message. Where Request.Output
// asks for JSON, Response.Data is set if the answer is nothing but JSON; whether
// it fits is for orchestrator.Ask to check, which also finds JSON inside of prose.
type LLM struct {
	Model        providers.Model // required
	Instructions string          // the system message; "": none
}

// Call implements [Agent]. Under a limit on cost, a model without a known price is
// refused with the code "budget".
func (a LLM) Call(ctx context.Context, req Request) (Response, error) {
	if a.Model == nil {
		return Response{}, errors.New("agent: LLM.Model is nil")
	}
	if p, ok := a.Model.(providers.Priced); ok && req.Limits.Cost > 0 && !p.Priced() {
		return Response{}, fmt.Errorf("%w: the model has no known price, which a limit on cost does not allow", budget)
	}
	said := providers.Message{Role: providers.User, Text: prompt(req)}
	if said.Text == "" {
		return Response{}, errors.New("agent: the request has neither Prompt nor Input")
	}
	var messages []providers.Message
	if a.Instructions != "" {
		messages = append(messages, providers.Message{Role: providers.System, Text: a.Instructions})
	}
	messages = append(append(messages, req.History...), said)
	answer, err := a.Model.Generate(ctx, providers.Request{
		Messages: messages, Output: req.Output, MaxTokens: req.Limits.MaxTokens, Temperature: req.Temperature,
	})
	if err != nil {
		return Response{}, err
	}
	resp := Response{Text: answer.Text, Usage: answer.Usage}
	if answer.Stop == providers.StopFilter {
		return resp, fmt.Errorf("%w: %s", ErrRefused, answer.Text)
	}
	resp.Messages = []providers.Message{said, {Role: providers.Assistant, Text: answer.Text}}
	if text := strings.TrimSpace(answer.Text); req.Output != nil && json.Valid([]byte(text)) {
		resp.Data = json.RawMessage(text)
	}
	return resp, nil
}

const budget Code = "budget"

// prompt is what the user says: the prompt, and the input as data behind it.
func prompt(req Request) string {
	if len(req.Input) == 0 {
		return req.Prompt
	}
	return strings.TrimSpace(req.Prompt + "\n\n<input>\n" + string(req.Input) + "\n</input>")
}

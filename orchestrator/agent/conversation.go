package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// Continue returns req for the next call of the conversation in which resp
// answered it: the History has all that was said, Prompt and Input are empty. Set
// Prompt to say more. Without one, an [LLM] resumes the work that resp left
// (Response.More).
//
// The History is what an LLM's model was shown and said, without the Instructions:
// it is the same in another process, and after a resume.
func Continue(req Request, resp Response) Request {
	results := 0 // of tool calls that the History ends in: they come before the prompt
	for results < len(resp.Messages) && resp.Messages[results].Role == providers.ToolRole {
		results++
	}
	said := slices.Concat(req.History, resp.Messages[:results])
	if prompt := userText(req); prompt != "" {
		said = append(said, providers.Message{Role: providers.User, Text: prompt})
	}
	said = append(said, resp.Messages[results:]...)
	if answer := resp.Content(); answer != "" {
		said = append(said, providers.Message{Role: providers.Assistant, Text: answer})
	} else if !resp.More {
		said = append(said, providers.Message{Role: providers.Assistant, Text: noAnswer})
	}
	req.Prompt, req.Input, req.History = "", nil, said
	return req
}

// noAnswer stands for an empty answer: some vendors refuse an empty message.
const noAnswer = "(no answer)"

// userText is the user's message: the prompt, and behind it the input as data. An
// input that the History shows already is not shown again behind a prompt.
func userText(req Request) string {
	if len(req.Input) == 0 {
		return req.Prompt
	}
	data := text.Delimit("input", "", string(compact(req.Input)))
	shown := func(m providers.Message) bool { return m.Role == providers.User && strings.HasSuffix(m.Text, data) }
	if req.Prompt != "" && slices.ContainsFunc(req.History, shown) {
		return req.Prompt
	}
	return strings.TrimSpace(req.Prompt + "\n\n" + data)
}

// compact is data without white space, as it is read back from a log. What is not
// JSON is returned as it is.
func compact(data json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return data
	}
	return b.Bytes()
}

// open reports whether a conversation ends in tool calls, or in their results.
func open(history []providers.Message) bool {
	if len(history) == 0 {
		return false
	}
	last := history[len(history)-1]
	return last.Role == providers.ToolRole || len(last.ToolCalls) > 0
}

// pending returns the tool calls at the end of a conversation that have no result.
func pending(history []providers.Message) []providers.ToolCall {
	answered := map[string]bool{}
	for _, m := range slices.Backward(history) {
		if m.Role != providers.ToolRole {
			return slices.DeleteFunc(slices.Clone(m.ToolCalls), func(c providers.ToolCall) bool { return answered[c.ID] })
		}
		answered[m.ToolID] = true
	}
	return nil
}

// turns counts the turns of the model since the user's last message.
func turns(history []providers.Message) int {
	n := 0
	for _, m := range slices.Backward(history) {
		if m.Role == providers.User {
			break
		}
		if m.Role == providers.Assistant {
			n++
		}
	}
	return n
}

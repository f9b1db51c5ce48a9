package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/providers"
)

// Continue returns req for the next call of the conversation in which resp
// answered it: the History has all that was said, Prompt, Input and Parts are empty. Set
// Prompt to say more. Without one, an [LLM] resumes the work that resp left
// (Response.More).
//
// The History is what an LLM's model was shown and said, without the Instructions:
// it is the same in another process, and after a resume.
func Continue(req Request, resp Response) Request {
	said := slices.Clone(req.History)
	if prompt := userText(req); prompt != "" || len(req.Parts) > 0 {
		said = append(said, providers.Message{Role: providers.User, Text: prompt, Parts: req.Parts})
	}
	said = append(said, resp.Messages...)
	if answer := cmp.Or(resp.Text, string(resp.Data)); answer != "" || !resp.More {
		said = append(said, providers.Message{Role: providers.Assistant, Text: cmp.Or(answer, "(no answer)")}) // some vendors refuse an empty message
	}
	req.Prompt, req.Input, req.Parts, req.History = "", nil, nil, said
	return req
}

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

package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
// it is the same in another process, and after a resume. Where the call made the
// conversation shorter (Response.Compactions), so does Continue: [Said] returns all.
func Continue(req Request, resp Response) Request {
	before := said(req)
	if len(before) > len(req.History) || !resp.More {
		req.Folded = 0 // it is that of another prompt
	}
	if resp.More {
		for _, c := range resp.Compactions {
			req.Folded += c.Turns
		}
	}
	req.Prompt, req.Input, req.Parts, req.History = "", nil, nil, append(compacted(before, resp), answerOf(resp)...)
	return req
}

// Said returns what was said with a request, and is not in its History: the prompt, what
// came between it and the answer, and the answer. It is not made shorter.
func Said(req Request, resp Response) []providers.Message {
	return slices.Concat(said(req)[len(req.History):], resp.Messages, answerOf(resp))
}

// answerOf is the message of the answer, if there is one.
func answerOf(resp Response) []providers.Message {
	answer := cmp.Or(resp.Text, string(resp.Data))
	if answer == "" && resp.More {
		return nil
	}
	return []providers.Message{{Role: providers.Assistant, Text: cmp.Or(answer, "(no answer)")}} // some vendors refuse an empty message
}

// resumable returns nil if a model can answer to a History without a prompt behind it:
// it ends in results of all tools that were called last, or says something, and messages
// of the system's may stand behind that.
func resumable(history []providers.Message) error {
	end := len(history)
	for end > 0 && history[end-1].Role == providers.System {
		end--
	}
	asked, answered := end, map[string]bool{}
	for asked > 0 && history[asked-1].Role == providers.ToolRole {
		asked--
		answered[history[asked].ToolID] = true
	}
	if nudged := end < len(history); end == 0 || asked == end && (!nudged || len(history[end-1].ToolCalls) > 0) {
		return errors.New("agent: the request has neither Prompt nor Input, nor a History that ends in results of tools or, behind what was said, in a system message")
	}
	if asked > 0 {
		for _, c := range history[asked-1].ToolCalls {
			if !answered[c.ID] {
				return fmt.Errorf("agent: the History has no result of the tool call %q (%s)", c.ID, c.Name)
			}
		}
	}
	return nil
}

// said is what was said up to req: its History, and the user's message behind it, if it
// has one.
func said(req Request) []providers.Message {
	said := slices.Clone(req.History)
	if prompt := userText(req); prompt != "" || len(req.Parts) > 0 {
		said = append(said, providers.Message{Role: providers.User, Text: prompt, Parts: req.Parts})
	}
	return said
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

package langchain

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// errUnfinished is a stream without a finish reason: it broke off, or was broken
// off by the vendor.
var errUnfinished = errors.New("the stream ended without a finish reason")

// stream is an answer that is put together from its events.
type stream struct {
	text, refusal strings.Builder
	finish        string
	usage         json.RawMessage
	fault         json.RawMessage // the vendor's error
}

// event is one piece of an answer.
type event struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content string `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// readStream reads server-sent events, gives each text to tell, and returns the
// whole answer as if it had not been streamed. langchaingo's own reader loses
// errors, long lines and what an unread stream leaves behind. When the stream
// fails, the returned body holds what is known: the usage and the vendor's error.
func readStream(r io.Reader, maxLine int64, tell func(string) error) ([]byte, error) {
	var s stream
	err := s.read(r, maxLine, tell)
	body, merr := json.Marshal(s.body())
	return body, errors.Join(err, merr)
}

func (s *stream) read(r io.Reader, maxLine int64, tell func(string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, int(maxLine)+2) // a longer line is over r's limit first
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // an empty line, a comment, or an event's name
		}
		data = bytes.TrimSpace(data)
		if string(data) == "[DONE]" {
			break
		}
		if err := s.add(data, tell); err != nil {
			return cmp.Or(lines.Err(), err) // half an event, if reading failed
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if s.finish == "" {
		return errUnfinished
	}
	return nil
}

func (s *stream) add(data []byte, tell func(string) error) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if isSet(e.Usage) {
		s.usage = e.Usage
	}
	if isSet(e.Error) {
		s.fault = e.Error
		return errVendor
	}
	for _, c := range e.Choices {
		if c.Index != 0 {
			continue
		}
		if c.FinishReason != "" {
			s.finish = c.FinishReason
		}
		s.refusal.WriteString(c.Delta.Refusal)
		if c.Delta.Content == "" {
			continue
		}
		s.text.WriteString(c.Delta.Content)
		if err := tell(c.Delta.Content); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) body() object {
	b := object{"choices": []object{{
		"index":         0,
		"message":       object{"role": "assistant", "content": s.text.String(), "refusal": s.refusal.String()},
		"finish_reason": s.finish,
	}}}
	if s.usage != nil {
		b["usage"] = s.usage
	}
	if s.fault != nil {
		b["error"] = s.fault
	}
	return b
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

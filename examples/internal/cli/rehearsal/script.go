package rehearsal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Script are answers that were written by hand: a file for each, by who says it, what it
// is about, and the attempt.
type Script struct{ Files fs.FS }

// Text is what a part says at an attempt, from 1: the file "<part>.<attempt>.txt", or
// that of the last attempt before, or "<part>.txt". A part is an agent's name, with a dot
// and the task behind it if the agent has several.
func (s Script) Text(part string, attempt int) (string, error) {
	names := make([]string, 0, attempt+1)
	for n := attempt; n > 0; n-- {
		names = append(names, fmt.Sprintf("%s.%d.txt", part, n))
	}
	for _, name := range append(names, part+".txt") {
		data, err := fs.ReadFile(s.Files, name)
		if err == nil {
			return strings.TrimSpace(string(data)), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("the script has no text for %s at attempt %d", part, attempt)
}

// Next is the first text of a part, in the order of attempts, whose beginning a prompt
// does not quote yet, or the last one: what the part says when it has said the others.
func (s Script) Next(part, prompt string) (string, error) {
	const beginning = 40 // bytes that tell one text from the next
	for n := 1; ; n++ {
		text, err := s.Text(part, n)
		if err != nil {
			return "", err
		}
		next, err := s.Text(part, n+1)
		if err != nil || next == text || !strings.Contains(prompt, text[:min(len(text), beginning)]) {
			return text, err
		}
	}
}

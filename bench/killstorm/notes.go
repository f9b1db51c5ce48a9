package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/convene-go/convene/providers"
)

// note is a line of the file in which processes say what they do, before and after
// they do it. A kill does not lose it.
type note struct {
	Kind    noteKind          `json:"kind"`              // event that is noted
	Gen     int               `json:"gen"`               // number of the process
	Run     string            `json:"run,omitempty"`     // ID of the run
	Key     string            `json:"key,omitempty"`     // key of the call or the question
	Attempt int               `json:"attempt,omitempty"` // attempt of the call, from 1
	Cost    providers.NanoUSD `json:"cost,omitempty"`    // cost of the call
	By      string            `json:"by,omitempty"`      // author of the answer
	Seed    uint64            `json:"seed,omitempty"`    // seed of the run's plan
	At      time.Time         `json:"at,omitzero"`       // when it happened
	Text    string            `json:"text,omitempty"`    // description of trouble; "": there is none
}

type noteKind string

const (
	noteReady    noteKind = "ready"    // the process has an engine
	noteUp       noteKind = "up"       // it has resumed runs and started its own
	noteStart    noteKind = "start"    // it is about to start a run
	noteStarted  noteKind = "started"  // it has
	noteBegin    noteKind = "begin"    // an agent is called
	noteEnd      noteKind = "end"      // and has its answer
	noteAnswered noteKind = "answered" // an answer to a question was accepted
	noteTrouble  noteKind = "trouble"  // something failed that must not
)

// notebook appends notes to the file.
type notebook struct{ file *os.File }

func openNotebook(path string) (notebook, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return notebook{file}, err
}

// add appends a note in one write: lines of several processes do not mix.
func (b notebook) add(n note) error {
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	_, err = b.file.Write(append(line, '\n'))
	return err
}

// noteReader reads the file as it grows.
type noteReader struct {
	file *os.File
	rest []byte // start of a line that is not whole yet
}

// next returns the notes that came since the last time.
func (r *noteReader) next() ([]note, error) {
	data, err := io.ReadAll(r.file)
	if err != nil {
		return nil, err
	}
	data = append(r.rest, data...)
	end := bytes.LastIndexByte(data, '\n') + 1
	r.rest = bytes.Clone(data[end:])
	var notes []note
	for line := range bytes.Lines(data[:end]) {
		var n note
		if err := json.Unmarshal(line, &n); err != nil {
			return nil, fmt.Errorf("note %q: %w", line, err)
		}
		notes = append(notes, n)
	}
	return notes, nil
}

package blackboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/convene-go/convene/routing"
)

// Snapshot returns the JSON form of the board as it is now, for [Restore].
func (e *Editor) Snapshot() ([]byte, error) {
	data, err := json.Marshal(e.b)
	if err != nil {
		return nil, fmt.Errorf("blackboard: snapshot: %w", err)
	}
	return data, nil
}

// Restore returns an editor of the board in a snapshot. Unknown fields, data after the
// board, and all that [Open] refuses are errors.
func Restore(data []byte, p routing.Preference) (*Editor, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	b := new(Board)
	err := d.Decode(b)
	if err == nil && !errors.Is(d.Decode(new(json.RawMessage)), io.EOF) {
		err = errors.New("there is data after the board")
	}
	if err != nil {
		return nil, fmt.Errorf("blackboard: restore: %w", err)
	}
	return Open(b, p)
}

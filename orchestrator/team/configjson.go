package team

import (
	"encoding/json"
	"errors"
	"math"

	"github.com/convene-go/convene/internal/dialect"
)

// Encode returns the JSON of a Config, Input, Outcome, State or event, in the dialect of all
// that hosts read and write. It is that of encoding/json, with two differences at any depth:
// a duration is a text such as "5m0s", and money is a decimal number of USD. In both, -1 is
// orchestrator.None. Types inside of v that have MarshalJSON keep it; v's own is not called:
//
//	func (o Outcome) MarshalJSON() ([]byte, error) { return team.Encode(o) }
func Encode(v any) ([]byte, error) { return dialect.Encode(v) }

// Decode reads what [Encode] has written into v, a pointer: a Config or an Input. A duration
// may also be a number of seconds. Fields that data does not mention stay as they are.
//
// One error has all faults, unknown fields among them, each with the path of its field.
// Types inside of v need no UnmarshalJSON for that.
func Decode(data []byte, v any) error { return dialect.Decode(data, v) }

// DecodeLenient is [Decode] for what the program itself has written, such as an Outcome or a
// State: unknown fields, which another version of it may have had, are no faults.
func DecodeLenient(data []byte, v any) error { return dialect.DecodeLenient(data, v) }

// MaxRetries is the member "maxRetries" of a JSON, a number of further tries. It is read as
// Attempts, which has been read before and then is 0. It stands in a struct beside the fields.
type MaxRetries struct {
	Attempts *int // number of all tries, which is set; it must not be nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *MaxRetries) UnmarshalJSON(data []byte) error {
	if *m.Attempts != 0 {
		return errors.New("is set beside attempts, want one of them")
	}
	if err := json.Unmarshal(data, m.Attempts); err != nil {
		return err
	}
	if n := *m.Attempts; n >= 0 {
		*m.Attempts = min(n, math.MaxInt-1) + 1 // a negative number stays a fault
	}
	return nil
}

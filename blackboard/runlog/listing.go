package runlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Listed tells whether a record of that kind changes more of a run's [Listing]
// than Changed and Next. A store that keeps Listings needs to add only these records
// and the first one of a run.
func Listed(kind string) bool {
	switch kind {
	case Started, Resumed, Stuck, Ended:
		return true
	}
	return false
}

// Indexed tells whether a record of that kind changes what stores keep beside the logs: the
// [Listing] of its run, or its open questions.
func Indexed(kind string) bool {
	switch kind {
	case Started, Resumed, Stuck, Ended, Asked, Answered, Expired, Withdrawn:
		return true
	}
	return false
}

// Add takes in what the next record of the run says. Of Data it reads the fields
// version, owner, parent and labels of a Started record, owner of a Resumed one,
// and status and error.message of a Stuck or an Ended one: engines keep these in
// Data whatever its size. Data of these kinds that is not a JSON object, or has
// fields of these names and other types, is [ErrRefused], and l stays as it was.
func (l *Listing) Add(rec Record) error {
	var d struct {
		Version int               `json:"version"`
		Owner   string            `json:"owner"`
		Parent  string            `json:"parent"`
		Labels  map[string]string `json:"labels"`
		Status  string            `json:"status"`
		Err     struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if Listed(rec.Kind) && len(rec.Data) > 0 {
		if err := json.Unmarshal(rec.Data, &d); err != nil {
			return fmt.Errorf("%w: data of record %d (%s) of run %q: %w", ErrRefused, rec.Seq, rec.Kind, rec.Run, err)
		}
	}
	l.Changed, l.Next = rec.At, rec.Seq+1
	if rec.Seq == 0 {
		l.Run, l.Started = rec.Run, rec.At
	}
	switch rec.Kind {
	case Started:
		l.Flow, l.Version, l.Owner, l.Parent = rec.Name, d.Version, d.Owner, d.Parent
		if l.Labels = nil; len(d.Labels) > 0 {
			l.Labels = d.Labels
		}
	case Resumed:
		l.Owner, l.Status, l.Err = d.Owner, "", ""
	case Stuck:
		l.Status, l.Err = Stuck, d.Err.Message
	case Ended:
		l.Status, l.Err, l.Ended = d.Status, d.Err.Message, true
	}
	return nil
}

// Selects tells whether q selects the run that l is of, but for After and Limit.
func (q Query) Selects(l Listing) bool {
	return (!q.Open || !l.Ended) &&
		(q.Run == "" || q.Run == l.Run) &&
		(q.Flow == "" || q.Flow == l.Flow) &&
		(q.Status == "" || q.Status == l.Status) &&
		(q.Owner == "" || q.Owner == l.Owner) &&
		(q.Parent == "" || q.Parent == l.Parent) &&
		(q.Before.IsZero() || l.Changed.Before(q.Before)) &&
		q.selectsLabel(l) && q.selectsText(l)
}

func (q Query) selectsLabel(l Listing) bool { return hasLabel(l.Labels, q.Label) }

// hasLabel tells whether labels has a label, "name" or "name=value"; "" is any.
func hasLabel(labels map[string]string, label string) bool {
	name, want, valued := strings.Cut(label, "=")
	value, ok := labels[name]
	return label == "" || ok && (!valued || value == want)
}

func (q Query) selectsText(l Listing) bool {
	text := LowerASCII(q.Text)
	has := func(s string) bool { return strings.Contains(LowerASCII(s), text) }
	for _, value := range l.Labels {
		if has(value) {
			return true
		}
	}
	return has(l.Run) || has(l.Flow) || has(l.Err)
}

// SearchText is the text that [Query.Text] is looked up in: the ID, the flow's name, the
// labels' values and Err, kept apart by zero bytes, with ASCII letters in lower case. A
// store that keeps it finds all runs that may match by [LowerASCII] of the query's Text;
// [Query.Selects] tells which do.
func (l *Listing) SearchText() string {
	fields := []string{l.Run, l.Flow, l.Err}
	for _, name := range slices.Sorted(maps.Keys(l.Labels)) {
		fields = append(fields, l.Labels[name])
	}
	return LowerASCII(strings.Join(fields, "\x00"))
}

// LowerASCII returns s with ASCII letters in lower case. All other bytes stay.
func LowerASCII(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return 'A' <= r && r <= 'Z' })
	if i < 0 {
		return s
	}
	b := []byte(s)
	for ; i < len(b); i++ {
		if 'A' <= b[i] && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

package runlog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/convene-go/convene/blackboard/runlog"
)

// begun is a store with the log of a run that has begun.
func begun(ctx context.Context) (*runlog.Memory, error) {
	s := runlog.NewMemory()
	return s, s.Append(ctx, []runlog.Record{
		{Run: "order-7", Seq: 0, Kind: runlog.Started, Name: "hello", Data: []byte(`{}`)},
		{Run: "order-7", Seq: 1, Kind: runlog.Called, Name: "writer", Data: []byte(`{"response":{"text":"Tea"}}`)},
	})
}

// The number of a record is its place in the log: who comes second appends nothing.
func ExampleStore() {
	ctx := context.Background()
	s, err := begun(ctx)
	fmt.Println(err)
	late := []runlog.Record{{Run: "order-7", Seq: 1, Kind: runlog.Called}}
	fmt.Println(errors.Is(s.Append(ctx, late), runlog.ErrConflict))
	for rec, err := range s.Records(ctx, "order-7", 0) {
		fmt.Println(rec.Seq, rec.Kind, rec.Name, err)
	}
	// Output:
	// <nil>
	// true
	// 0 started hello <nil>
	// 1 called writer <nil>
}

// A query selects runs; the list is made without reading their logs.
func ExampleQuery() {
	ctx := context.Background()
	s, err := begun(ctx)
	fmt.Println(err)
	for l, err := range s.List(ctx, runlog.Query{Open: true, Flow: "hello"}) {
		fmt.Println(l.Run, l.Next, l.Ended, err)
	}
	// Output:
	// <nil>
	// order-7 2 false <nil>
}

// A run can be carried from one store to another.
func ExampleExport() {
	ctx := context.Background()
	s, err := begun(ctx)
	fmt.Println(err)
	var file bytes.Buffer
	fmt.Println(runlog.Export(ctx, s, "order-7", &file))
	run, err := runlog.Import(ctx, runlog.NewMemory(), &file)
	fmt.Println(run, err)
	// Output:
	// <nil>
	// <nil>
	// order-7 <nil>
}

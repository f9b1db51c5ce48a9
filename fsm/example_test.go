package fsm_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/convene-go/convene/fsm"
)

type (
	Phase  string
	Signal string
	Role   string
)

// A draft is written, reviewed and published. Only an editor publishes, and only
// with a word why.
var draftRules = fsm.Definition[Phase, Signal, Role]{
	Initial:  "drafting",
	States:   []Phase{"drafting", "reviewing", "published", "dropped"},
	Terminal: []Phase{"published", "dropped"},
	Rules: []fsm.Rule[Phase, Signal, Role]{
		{On: "submit", From: []Phase{"drafting"}, To: "reviewing", Roles: []Role{"author"}},
		{On: "object", From: []Phase{"reviewing"}, To: "drafting", Roles: []Role{"editor"}},
		{On: "publish", From: []Phase{"reviewing"}, To: "published", Roles: []Role{"editor"}, Guard: "has a reason"},
		{On: "drop", To: "dropped"},
	},
	Guards: map[string]fsm.Guard[Phase, Signal, Role]{
		"has a reason": func(e fsm.Entry[Phase, Signal, Role]) error {
			if e.Note == "" {
				return errors.New("the note is empty")
			}
			return nil
		},
	},
}

func Example() {
	table, err := fsm.New(draftRules)
	if err != nil {
		log.Fatal(err)
	}
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	draft := table.Start(func() time.Time { return noon }) // a flow passes its Now

	_, err = draft.Fire("publish", "editor", "it is good")
	fmt.Println(err)
	_, err = draft.Fire("submit", "author", "")
	fmt.Println(draft.Current(), err)
	_, err = draft.Fire("publish", "editor", "")
	fmt.Println(errors.Is(err, fsm.ErrTransition), err)
	_, err = draft.Fire("publish", "editor", "it is good")
	fmt.Println(draft.Current(), err)

	for _, e := range draft.History() {
		fmt.Printf("%s %s: %s -> %s %q\n", e.At.Format(time.Kitchen), e.Actor, e.From, e.To, e.Note)
	}
	// Output:
	// event "publish" from "drafting" is not allowed; allowed: submit->reviewing by [author], drop->dropped
	// reviewing <nil>
	// true event "publish" from "reviewing" is refused: guard "has a reason": the note is empty; allowed: object->drafting by [editor], publish->published by [editor], drop->dropped
	// published <nil>
	// 12:00PM author: drafting -> reviewing ""
	// 12:00PM editor: reviewing -> published "it is good"
}

func ExampleTable_String() {
	table, err := fsm.New(draftRules)
	if err != nil {
		log.Fatal(err)
	}
	for _, phase := range table.States() {
		fmt.Println(phase, len(table.Allowed(phase)))
	}
	fmt.Print(table)
	// Output:
	// drafting 2
	// reviewing 3
	// published 0
	// dropped 0
	//            submit     object    publish    drop
	// drafting   reviewing  -         -          dropped
	// reviewing  -          drafting  published  dropped
	// published  -          -         -          -
	// dropped    -          -         -          -
}

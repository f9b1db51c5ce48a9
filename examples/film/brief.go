package main

import (
	"fmt"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

// briefText makes a short request one that needs specialists: it has more than 50 words,
// and none that is a specialist's skill, so that the words of the request decide which
// specialists work.
const briefText = `%s

This is the brief for the %s of a film studio. Work on its own part of the request alone. Take up what the request names, one thing after the other, and say in whole sentences what the audience sees, hears and understands at that point, and why. Invent nothing that contradicts the request, and keep to the mood that it asks for.`

// brief is the hook by which the master writes to a department.
func brief(_ *orchestrator.Context, in hierarchy.Input, d hierarchy.Department, _ []hierarchy.Report) (string, error) {
	return fmt.Sprintf(briefText, in.Prompt, d.Name), nil
}

// crafts are the specializations in a department.
func crafts(d hierarchy.Department) string {
	var all []string
	for _, a := range d.Agents {
		all = append(all, a.Specialization)
	}
	return strings.Join(all, ", ")
}

package routing_test

import (
	"fmt"

	"github.com/convene-go/convene/routing"
)

// A request goes to the target that its words name, with the help of the others
// that it concerns enough; the pictures wait for the story.
func ExampleDecide() {
	targets := []routing.Target{
		{ID: "story", Priority: 1, Base: 10, Keywords: map[string]int{"scene": 30, "dialogue": 35}},
		{ID: "visual", Priority: 2, Base: 10, Keywords: map[string]int{"scene": 25, "camera": 35}},
		{ID: "budget", Priority: 3, Base: 10, Keywords: map[string]int{"cost": 40}},
	}
	needs := map[string][]string{"visual": {"story"}}

	relevances := routing.Keyword("Write a scene with dialogue", targets)
	route, err := routing.Decide(relevances, needs, routing.DefaultCut)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(route.Primary, route.Supporting, route.Mode, route.Waves)
	for _, r := range route.Relevances {
		fmt.Printf("%s %.2f: %s\n", r.ID, r.Relevance, r.Reason)
	}
	// Output:
	// story [visual] sequential [[story] [visual]]
	// story 0.75: matches dialogue 35, scene 30; base 10
	// visual 0.35: matches scene 25; base 10
	// budget 0.10: no keyword matches; base 10
}

// A brief says how many specialists it is worth and which skills they need.
func ExampleBySkill() {
	candidates := []routing.Candidate{
		{ID: "ann", Skills: []string{"plot"}, SuccessRate: new(70.0)},
		{ID: "bob", Skills: []string{"voice acting"}, SuccessRate: new(99.0)},
		{ID: "eve", Skills: []string{"plot", "theme"}, SuccessRate: new(90.0)},
	}
	rules := routing.Rules{Skills: []string{"plot", "theme", "voice acting"}}
	brief := rules.Analyze("A detailed plot for the first episode", nil)
	fmt.Println(brief.Complexity, brief.Skills, brief.Estimate)
	for _, c := range (routing.BySkill{}).Select(candidates, routing.Need{Skills: brief.Skills, Count: brief.Estimate}) {
		fmt.Println(c.ID)
	}
	// Output:
	// complex [plot] 4
	// eve
	// ann
}

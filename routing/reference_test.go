package routing_test

import "github.com/convene-go/convene/routing"

const breadTheft = "Create a dramatic opening scene with Aladdin stealing bread"

// filmTargets are the six reference departments (H23) with a keyword table that
// gives the figures of the worked examples.
func filmTargets() []routing.Target {
	return []routing.Target{
		{ID: "story", Priority: 1, Base: 10, Keywords: map[string]int{
			"story": 40, "episode": 30, "scene": 30, "dialogue": 35, "dramatic": 20,
			"opening": 25, "plot": 40, "narrative": 40, "theme": 25, "pacing": 25,
		}},
		{ID: "character", Priority: 2, Base: 10, Keywords: map[string]int{
			"character": 40, "personality": 40, "protagonist": 40, "costume": 25, "dialogue": 30,
			"story": 15, "episode": 10, "stealing": 20, "aladdin": 35,
		}},
		{ID: "visual", Priority: 3, Base: 10, Keywords: map[string]int{
			"visual": 40, "storyboard": 40, "camera": 35, "lighting": 35, "scene": 25, "concept": 20, "opening": 15,
		}},
		{ID: "image_quality", Priority: 4, Base: 15, Keywords: map[string]int{
			"image": 35, "resolution": 35, "reference": 30, "render": 25,
		}},
		{ID: "audio", Priority: 5, Base: 10, Keywords: map[string]int{
			"audio": 40, "music": 40, "sound": 40, "foley": 40, "voice": 35, "dialogue": 30, "dramatic": 25,
		}},
		{ID: "production", Priority: 6, Base: 10, Keywords: map[string]int{
			"budget": 40, "schedule": 40, "production": 35, "resource": 25,
		}},
	}
}

// filmDeps are the dependencies of the reference departments (HC14).
func filmDeps() map[string][]string {
	return map[string][]string{"visual": {"character", "story"}, "image_quality": {"visual"}}
}

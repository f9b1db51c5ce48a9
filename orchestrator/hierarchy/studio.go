package hierarchy

import (
	_ "embed"
	"encoding/json"
)

//go:embed studio.json
var studio []byte

// MovieDepartments returns the studio of studio.json: story, character, visual,
// image_quality, audio and production, with heads named <department>-head and
// specialists named <department>-<skill>-specialist, an underscore in a department's ID
// being a hyphen. Each name in characters counts as a keyword of the character
// department, as "aladdin" does. The caller owns the result.
func MovieDepartments(characters ...string) []Department {
	var departments []Department
	if err := json.Unmarshal(studio, &departments); err != nil {
		panic(err) // the file is part of the package
	}
	for _, name := range characters {
		departments[1].Keywords[name] = 35 // the character department
	}
	return departments
}

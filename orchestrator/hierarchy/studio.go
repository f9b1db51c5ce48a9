package hierarchy

// MovieDepartments returns the reference studio: story, character, visual,
// image_quality, audio and production, with the keywords that the worked example
// was computed with (H19-H23), heads named <department>-head and specialists named
// <department>-<skill>-specialist, an underscore in a department's ID being a hyphen.
// Each name in characters counts as a keyword of the character department, as
// "aladdin" does. The caller owns the result.
func MovieDepartments(characters ...string) []Department {
	studio := []Department{
		story(), character(characters), visual(), imageQuality(), audio(), production(),
	}
	for i := range studio {
		studio[i].Priority = i + 1
	}
	return studio
}

func story() Department {
	d := NewDepartment("story", "story-head",
		studioAgent("story-plot-specialist", "Plot Specialist", "plot and structure", 70, "plot", "narrative"),
		studioAgent("story-dialogue-specialist", "Dialogue Specialist", "dialogue", 70, "dialogue"),
		studioAgent("story-theme-specialist", "Theme Specialist", "theme and pacing", 60, "theme", "pacing"),
	)
	d.Name, d.OutputKey, d.Base = "Story Department", "narrative", 10
	d.Keywords = map[string]int{
		"story": 40, "episode": 30, "scene": 30, "dialogue": 35, "dramatic": 20,
		"opening": 25, "plot": 40, "narrative": 40, "theme": 25, "pacing": 25,
	}
	return d
}

func character(names []string) Department {
	d := NewDepartment("character", "character-head",
		studioAgent("character-appearance-specialist", "Appearance Specialist", "appearance and costume", 65, "appearance", "costume"),
		studioAgent("character-personality-specialist", "Personality Specialist", "personality and motivation", 60, "personality", "motivation"),
	)
	d.Name, d.Base = "Character Department", 10
	d.Keywords = map[string]int{
		"character": 40, "personality": 40, "protagonist": 40, "costume": 25, "dialogue": 30,
		"story": 15, "episode": 10, "stealing": 20, "aladdin": 35,
	}
	for _, name := range names {
		d.Keywords[name] = 35
	}
	return d
}

func visual() Department {
	d := NewDepartment("visual", "visual-head",
		studioAgent("visual-storyboard-specialist", "Storyboard Specialist", "storyboard and composition", 65, "storyboard", "composition"),
		studioAgent("visual-camera-specialist", "Camera Specialist", "camera work", 65, "camera"),
		studioAgent("visual-lighting-specialist", "Lighting Specialist", "lighting and mood", 60, "lighting"),
	)
	d.Name, d.Base = "Visual Department", 10
	d.DependsOn = []string{"character", "story"}
	d.Keywords = map[string]int{
		"visual": 40, "storyboard": 40, "camera": 35, "lighting": 35, "scene": 25, "concept": 20, "opening": 15,
	}
	return d
}

func imageQuality() Department {
	d := NewDepartment("image_quality", "image-quality-head",
		studioAgent("image-quality-reference-specialist", "Reference Specialist", "reference images", 75, "reference"),
		studioAgent("image-quality-render-specialist", "Render Specialist", "render and resolution", 75, "render", "resolution"),
	)
	d.Name, d.Base = "Image Quality Department", 15
	d.DependsOn = []string{"visual"}
	d.Keywords = map[string]int{"image": 35, "resolution": 35, "reference": 30, "render": 25}
	return d
}

func audio() Department {
	d := NewDepartment("audio", "audio-head",
		studioAgent("audio-music-specialist", "Music Specialist", "music and score", 65, "music"),
		studioAgent("audio-sound-specialist", "Sound Specialist", "sound effects and foley", 60, "sound", "foley"),
		studioAgent("audio-voice-specialist", "Voice Specialist", "voice", 65, "voice"),
	)
	d.Name, d.Base = "Audio Department", 10
	d.Keywords = map[string]int{
		"audio": 40, "music": 40, "sound": 40, "foley": 40, "voice": 35, "dialogue": 30, "dramatic": 25,
	}
	return d
}

func production() Department {
	d := NewDepartment("production", "production-head",
		studioAgent("production-budget-specialist", "Budget Specialist", "budget and resource planning", 70, "budget", "resource"),
		studioAgent("production-schedule-specialist", "Schedule Specialist", "schedule", 70, "schedule"),
	)
	d.Name, d.Base = "Production Department", 10
	d.Keywords = map[string]int{"budget": 40, "schedule": 40, "production": 35, "resource": 25}
	return d
}

func studioAgent(id, name, specialization string, threshold float64, skills ...string) Agent {
	return Agent{ID: id, Name: name, Specialization: specialization, PassingThreshold: &threshold, Skills: skills}
}

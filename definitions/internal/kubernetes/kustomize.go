package kubernetes

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/regwarden/regwarden/definitions/internal/node"
	"github.com/regwarden/regwarden/definitions/internal/scanner"
	"github.com/regwarden/regwarden/definitions/model"
)

// kustomizationNames are the names that kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// maxResources limits the resources that are visited: kustomizations may name each other again and again.
const maxResources = 100_000

// maxImageChanges limits the changes of an image, each of which is compared with it.
const maxImageChanges = 200

// maxImageChange limits the texts of a change: every image that it is for is a new text. A name, its new name, a tag and a digest are less.
const maxImageChange = 1024

// maxVariables limits the values of a Secret that is generated from files with many of them.
const maxVariables = 10_000

// kustomization is a file of kustomize, by which objects of other files get a namespace and other images, and which generates Secrets.
type kustomization struct {
	file      *scanner.File
	namespace string
	images    []imageChange
	resources []string // files and directories, as paths like the names of files
}

// imageChange is an entry of images: what kustomize writes for the images of a name.
type imageChange struct{ name, newName, newTag, tagSuffix, digest string }

func (i imageChange) length() int {
	return len(i.name) + len(i.newName) + len(i.newTag) + len(i.tagSuffix) + len(i.digest)
}

func (i imageChange) apply(image string) string {
	name := scanner.CutTag(image)
	if name != i.name {
		return image
	}
	version := image[len(name):]
	if i.newTag != "" || i.digest != "" {
		version = ""
	}
	if i.newTag != "" {
		version = ":" + i.newTag
	}
	if i.digest != "" {
		version += "@" + i.digest
	}
	if i.newTag == "" && i.digest == "" && i.tagSuffix != "" {
		tag, _, _ := strings.Cut(strings.TrimPrefix(version, ":"), "@")
		if version = ":" + tag + i.tagSuffix; len(version) > maxImageChange { // suffixes of several kustomizations
			return image
		}
	}
	return cmp.Or(i.newName, name) + version
}

// KustomizeFormats returns the readers of kustomize.
func (c *Cluster) KustomizeFormats() []scanner.Reader {
	return []scanner.Reader{{Name: model.Kustomization, Names: kustomizationNames, Files: kustomizationNames, Is: isKustomization,
		Read: c.readKustomization, Keys: []string{"resources", "secretGenerator", "helmCharts", "namespace"}}}
}

// isKustomization recognizes a file by its name, since it may be without kind. Flux has a kind of the same name.
func isKustomization(f *scanner.File) bool {
	root := f.Root()
	kind := root.Get("kind")
	return f.HasName(kustomizationNames...) && root.IsObject() && root.Get("spec") == nil &&
		(kind == nil || kind.Text() == "Kustomization" || kind.Text() == "Component")
}

func (c *Cluster) readKustomization(f *scanner.File) {
	for _, root := range f.Readable() {
		directory := path.Dir(f.Name)
		k := &kustomization{file: f, namespace: root.Get("namespace").Text()}
		for _, list := range []string{"resources", "bases", "components"} {
			for _, resource := range root.Get(list).Items() {
				k.resources = append(k.resources, path.Join(directory, resource.Text())) // others are ignored: no file has their name
			}
		}
		for _, image := range root.Get("images").Items() {
			if len(k.images) == maxImageChanges {
				break
			}
			change := imageChange{image.Get("name").Text(), image.Get("newName").Text(), image.Get("newTag").Text(),
				image.Get("tagSuffix").Text(), image.Get("digest").Text()}
			if change.length() <= maxImageChange {
				k.images = append(k.images, change)
			}
		}
		c.kustomizations = append(c.kustomizations, k)
		for _, generator := range root.Get("secretGenerator").Items() {
			c.add(generatedSecret(f, generator))
			k.resources = append(k.resources, f.Name)
		}
		for _, chart := range root.Get("helmCharts").Items() {
			addKustomizeChart(c, f, chart)
		}
	}
}

// addKustomizeChart adds a chart of an OCI registry or a chart repository, for which kustomize runs Helm.
func addKustomizeChart(c *Cluster, f *scanner.File, chart *node.Node) {
	repository, name := chart.Get("repo").Text(), chart.Get("name").Text()
	e := scanner.Entry{Address: repository}
	switch {
	case strings.HasPrefix(repository, "oci://"):
		e.Address, e.Notices = strings.TrimSuffix(repository, "/")+"/"+name, []model.Notice{scanner.HelmAnonymous}
		e.Version = chart.Get("version").Text()
	case isClassicHelm(repository):
		e.OfCharts(name, chart.Get("version").Text())
		e.Notices = []model.Notice{scanner.HelmRepositoryAnonymous}
	default:
		return
	}
	e.At, e.Format, e.Consumer = f.At(chart.Get("repo").Line, "chart "+name), model.Kustomization, model.Helm
	e.Add(c.Scanner)
}

// generatedSecret returns the Secret that a generator creates of files and literals.
func generatedSecret(f *scanner.File, generator *node.Node) *object {
	o := &object{file: f, apiVersion: "v1", kind: "Secret", name: generator.Get("name").Text(),
		namespace: generator.Get("namespace").Text()}
	data, unread := map[string]string{}, map[string]*gap{}
	for _, literal := range generator.Get("literals").Items() {
		key, value, _ := strings.Cut(literal.Text(), "=")
		data[key] = withoutQuotes(value)
	}
	for _, name := range slices.Concat(generator.Get("envs").Items(), []*node.Node{generator.Get("env")}) {
		addVariables(f, name.Text(), data, unread)
	}
	for _, item := range generator.Get("files").Items() {
		key, name, named := strings.Cut(item.Text(), "=")
		if !named {
			key, name = path.Base(item.Text()), item.Text()
		}
		data[key], unread[key] = generatorFile(f, name)
	}
	o.node = generatedNode(generator, data)
	o.unread = unread
	return o
}

// generatorFile returns a file from which kustomize generates a Secret, and why its values are not known.
func generatorFile(f *scanner.File, name string) (string, *gap) {
	text, err := f.OnMachine(name)
	switch {
	case err != nil:
		return "", gapf(model.UnresolvedConfigFile,
			"kustomize generates the Secret from the file %s, which is not in the directory that is read.", scanner.Shown(name))
	case strings.Contains(string(text), "ENC[AES256_GCM"):
		return string(text), gapf(model.UnresolvedEncrypted,
			"kustomize generates the Secret from the file %s, which SOPS encrypted. "+readInstead, scanner.Shown(name))
	}
	return string(text), nil
}

// withoutQuotes returns the value of a literal as kustomize reads it.
func withoutQuotes(value string) string {
	if n := len(value) - 1; n > 0 && value[0] == value[n] && (value[0] == '"' || value[0] == '\'') {
		return value[1:n]
	}
	return value
}

// addVariables adds the lines KEY=value of a file. A key alone is for a variable of the environment of kustomize, a placeholder.
func addVariables(f *scanner.File, name string, data map[string]string, unread map[string]*gap) {
	if name == "" {
		return
	}
	text, g := generatorFile(f, name)
	if g != nil {
		unread[anyKey] = g
		return
	}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimLeftFunc(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), unicode.IsSpace)
		key, value, found := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#':
		case len(data) >= maxVariables:
			unread[anyKey] = gapf(model.UnresolvedConfigFile, "The Secret has more than %d values.", maxVariables)
			return
		case found:
			data[key] = value
		default:
			data[key] = "${" + key + "}"
		}
	}
}

// generatedNode returns a Secret as a manifest would have it, in the line of its generator.
func generatedNode(generator *node.Node, data map[string]string) *node.Node {
	text, err := json.Marshal(map[string]any{"type": generator.Get("type").Text(), "stringData": data})
	if err != nil {
		panic(err) // texts can be encoded
	}
	root, err := node.JSON(text)
	if err != nil { // a text exceeds a limit of a file
		root = generator
	}
	root.MoveTo(generator.Line)
	return root
}

// applyKustomizations sets the namespaces and images of objects by the kustomizations that list their files. The outermost one decides,
// and the first of several: in each of them, a base has its Secrets where it has what refers to them.
func (c *Cluster) applyKustomizations() {
	if len(c.kustomizations) == 0 {
		return
	}
	k := kustomizing{c: c, byDirectory: map[string]*kustomization{}, byFile: map[string][]*object{}, namespaces: map[*object]string{},
		images: map[*object][]imageChange{}, visited: map[*kustomization]bool{}}
	for _, known := range c.kustomizations {
		k.byDirectory[path.Dir(known.file.Name)] = known
	}
	for _, o := range c.objects {
		k.byFile[o.file.Name] = append(k.byFile[o.file.Name], o)
	}
	included := map[*kustomization]bool{}
	for _, known := range c.kustomizations {
		for _, resource := range known.resources {
			if base := k.byDirectory[resource]; base != nil && base != known {
				included[base] = true
			}
		}
	}
	for _, known := range c.kustomizations {
		if !included[known] {
			k.visit(known, "", nil, 0)
		}
	}
	for _, known := range c.kustomizations { // those that include each other
		if !k.visited[known] {
			k.visit(known, "", nil, 0)
		}
	}
	for o, namespace := range k.namespaces {
		o.namespace, o.shown = namespace, ""
	}
	for o, images := range k.images {
		o.images = images
	}
}

// kustomizing visits kustomizations and the objects that they list.
type kustomizing struct {
	c           *Cluster
	byDirectory map[string]*kustomization
	byFile      map[string][]*object
	namespaces  map[*object]string
	images      map[*object][]imageChange // in the order in which they are applied
	visited     map[*kustomization]bool
	visits      int
}

// visit sets the namespace of what a kustomization lists: that of the one that includes it, otherwise its own. Its images are changed
// before those of the one that includes it.
func (k *kustomizing) visit(known *kustomization, namespace string, images []imageChange, depth int) {
	k.visited[known] = true
	namespace = cmp.Or(namespace, known.namespace)
	if len(known.images) > 0 {
		images = slices.Concat(known.images, images)
		images = images[:min(len(images), maxImageChanges)]
	}
	for _, resource := range known.resources {
		if k.visits++; k.visits > maxResources || depth > maxLists {
			return
		}
		if base := k.byDirectory[resource]; base != nil && base != known {
			k.visit(base, namespace, images, depth+1)
		}
		for _, o := range k.byFile[resource] {
			k.visits++
			k.c.CheckLimits()
			if _, set := k.namespaces[o]; !set && namespace != "" {
				k.namespaces[o] = namespace
			}
			if _, set := k.images[o]; !set && len(images) > 0 {
				k.images[o] = images
			}
		}
	}
}

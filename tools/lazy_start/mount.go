// Mount the layers of an image with the file system of stargz-snapshotter, as its snapshotter does for containerd.
//
// Usage: lazy_mount DIR REFERENCE LAYER=TOC…, the lowest layer first. Layer N is mounted at DIR/mounts/N. When all are there, and what is
// prefetched has been fetched, a line is written; everything is unmounted at the end of standard input.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/containerd/reference"
	"github.com/containerd/containerd/remotes/docker"
	"github.com/containerd/stargz-snapshotter/fs"
	"github.com/containerd/stargz-snapshotter/fs/config"
	"github.com/containerd/stargz-snapshotter/fs/source"
	"golang.org/x/sys/unix"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func hosts(spec reference.Spec) ([]docker.RegistryHost, error) {
	client := &http.Client{Transport: http.DefaultTransport}
	return []docker.RegistryHost{{Client: client, Host: spec.Hostname(), Scheme: "http", Path: "/v2"}}, nil
}

func main() {
	root, image, layers := os.Args[1], os.Args[2], os.Args[3:]
	settings := config.Config{NoBackgroundFetch: true, NoPrometheus: true}
	system, err := fs.NewFilesystem(filepath.Join(root, "cache"), settings, fs.WithGetSources(source.FromDefaultLabels(hosts)))
	check(err)
	labels := make([]map[string]string, len(layers))
	points := make([]string, len(layers))
	for number, layer := range layers {
		pair := strings.SplitN(layer, "=", 2)
		var above []string
		for _, each := range layers[number:] {
			above = append(above, strings.SplitN(each, "=", 2)[0])
		}
		labels[number] = map[string]string{
			"containerd.io/snapshot/remote/stargz.reference": image,
			"containerd.io/snapshot/remote/stargz.digest":    pair[0],
			"containerd.io/snapshot/remote/stargz.layers":    strings.Join(above, ","),
			"containerd.io/snapshot/stargz/toc.digest":       pair[1],
		}
		points[number] = filepath.Join(root, "mounts", strconv.Itoa(number))
		check(os.MkdirAll(points[number], 0o755))
		check(system.Mount(context.Background(), points[number], labels[number]))
	}
	for number, point := range points {
		check(system.Check(context.Background(), point, labels[number]))
	}
	fmt.Println("mounted")
	io.Copy(io.Discard, os.Stdin)
	for _, point := range points {
		check(unix.Unmount(point, unix.MNT_DETACH))
	}
}

"""What --figures writes: that every figure of the page is there, and that its numbers give the drawing again."""
import collections
import csv
import html
import json
import math
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
# Numbers have six digits, coordinates of pixels one or two.
SLACK = 0.6


def check_figures(folder, page):
    """Raises an AssertionError. Returns {name of a figure, without its number: kind}."""
    drawn = sorted(pathlib.Path(folder).glob("*.svg"))
    in_page = page.split("<svg ")[1:]
    assert len(drawn) == len(in_page) > 0, f"{len(drawn)} files, {len(in_page)} figures in the page"
    kinds = {}
    for place, (file, of_page) in enumerate(zip(drawn, in_page), 1):
        assert file.name.startswith(f"{place:02}-"), file
        root = ElementTree.fromstring(file.read_text())
        title = html.unescape(re.search(r'aria-label="([^"]*)"', of_page).group(1))
        assert root.attrib["aria-label"] == title, file
        figure = json.loads(root.attrib["data-figure"])
        rows = list(csv.DictReader(file.with_suffix(".csv").read_text().splitlines(keepends=True)))
        assert rows, f"{file}: no numbers"
        check_pdf(file.with_suffix(".pdf"), root)
        DRAWN_AGAIN[figure["kind"]](root, figure, rows, file)
        kinds[file.stem[3:]] = figure["kind"]
    return kinds


def check_pdf(file, root):
    """That it is one page of the figure's size, with vectors, its fonts within, and all that the figure says as text."""
    pdf = file.read_bytes()
    width, height = (0.75 * float(size) for size in root.attrib["viewBox"].split()[2:])
    page = re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", pdf)
    assert page and abs(float(page[1]) - width) < 1 and abs(float(page[2]) - height) < 1, f"{file}: {page}"
    assert b"/Subtype /Image" not in pdf, f"{file}: a picture of pixels"
    facts = subprocess.run(["pdfinfo", "-isodates", file], capture_output=True, text=True, check=True).stdout
    assert re.search(r"CreationDate: +19(70|69)-", facts), f"{file}: it has the day on which it was drawn: {facts}"
    fonts = subprocess.run(["pdffonts", file], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    assert all(line.split()[-5] == "yes" for line in fonts), f"{file}: {fonts}"
    said = "".join(subprocess.run(["pdftotext", "-raw", file, "-"], capture_output=True, text=True, check=True).stdout.split())
    for text in root.iter(f"{SVG}text"):
        for part in [text, *text.iter(f"{SVG}tspan")]:
            if part.text and "off" not in classes(text):
                assert "".join(part.text.split()) in said, f"{part.text} is not in {file}"


def number(text):
    return float(text) if text else None


def classes(element):
    return element.attrib.get("class", "").split()


def boxes(root, *wanted):
    """[(x, y, width, height)] of the rectangles of one of these classes."""
    return [tuple(float(box.attrib[key]) for key in ("x", "y", "width", "height")) for box in root.iter(f"{SVG}rect")
            if any(one in classes(box) for one in wanted)]


def scale(frame, low, high):
    return lambda value: frame[0] + (value - low) / (high - low) * frame[2]


def vertices(root):
    """Of all paths made of lines."""
    points = set()
    for path in root.iter(f"{SVG}path"):
        x = y = 0.0
        for command, values in re.findall(r"([MLHV])([^A-Za-z]*)", path.attrib["d"]):
            numbers = [float(value) for value in values.replace(",", " ").split()]
            if command in "ML":
                x, y = numbers
            elif command == "H":
                x = numbers[0]
            else:
                y = numbers[0]
            points.add((x, y))
    return points


def line_again(root, figure, rows, file):
    x_axis, y_axis = figure["x"], figure["y"]
    left, top, width, height = figure["frame"]
    known = vertices(root)
    for row in rows:
        x, y = number(row[x_axis["label"]]), number(row[y_axis["label"]])
        is_inside = (x is not None and y is not None and x_axis["low"] <= x <= x_axis["high"]
                     and y_axis["low"] <= y <= y_axis["high"])
        if not is_inside:
            continue
        at = (left + (x - x_axis["low"]) / (x_axis["high"] - x_axis["low"]) * width,
              top + height - (y - y_axis["low"]) / (y_axis["high"] - y_axis["low"]) * height)
        assert any(abs(a - at[0]) < SLACK and abs(b - at[1]) < SLACK for a, b in known), f"{file}: {row} is not drawn at {at}"


def schedule_again(root, figure, rows, file):
    x = scale(figure["frame"], figure["x"]["low"], figure["x"]["high"])
    blocks = boxes(root, "dot", "band")
    for row in rows:
        begin, end = float(row["begin"]), min(float(row["end"]), figure["x"]["high"])
        if end > begin:
            assert any(abs(box[0] - x(begin)) < SLACK and abs(box[2] - (x(end) - x(begin))) < SLACK for box in blocks), f"{file}: {row}"


def hosts_again(root, figure, rows, file):
    x = scale(figure["frame"], 0, figure["end_s"])
    left, top, _, height = figure["frame"]
    step = height / len(figure["hosts"])
    for row in rows:
        begin, end = float(row["begin"]), min(float(row["end"]), figure["end_s"])
        y = top + step * figure["hosts"].index(row["host"])
        if row["kind"] == "mark":
            assert any(abs(float(dot.attrib["cx"]) - x(begin)) < SLACK for dot in root.iter(f"{SVG}circle")), f"{file}: {row}"
        elif end > begin:
            assert any(abs(box[0] - x(begin)) < SLACK and abs(box[1] - y) < SLACK and abs(box[2] - (x(end) - x(begin))) < SLACK
                       for box in boxes(root, "dot", "cell-ground")), f"{file}: {row}"


def bar_again(root, figure, rows, file):
    values = [number(row["value"]) for row in rows]
    in_order = [value for value in values if value is not None]
    # Bars of groups, then swatches of the legend, which are no taller than they are wide; heights go up with values.
    heights = [box[3] for box in boxes(root, "dot")]
    drawn = heights[-len(in_order):] if len(heights) == len(in_order) else [
        box[3] for box in boxes(root, "dot") if abs(box[2] - box[3]) > 0.01]
    assert len(drawn) == len(in_order), f"{file}: {len(drawn)} bars, {len(in_order)} values"
    pairs = sorted(zip(in_order, drawn))
    assert all(a[1] <= b[1] + SLACK for a, b in zip(pairs, pairs[1:])), f"{file}: {pairs}"


def cells_of(root):
    """{(x, y) of a cell's corner: its colour's class}, of boxes and of paths with many cells."""
    cells = {}
    for shape in root.iter():
        colour = [one for one in classes(shape) if re.fullmatch(r"h\d+", one)]
        if "cell" not in classes(shape) or not colour:
            continue
        corners = re.findall(r"M([-\d.]+) ([-\d.]+)h", shape.attrib["d"]) if "d" in shape.attrib else [(shape.attrib["x"], shape.attrib["y"])]
        cells.update({(float(x), float(y)): colour[0] for x, y in corners})
    return cells


def heat_again(root, figure, rows, file):
    """Each cell, from its panel's frame and the file of values alone: where it is, and its colour of eleven."""
    cells = [row for row in rows if row["value"]]
    frames = {panel["heading"]: panel["frame"] for panel in figure["panels"]}
    drawn = cells_of(root)
    for row in cells:
        left, top, width, height = frames[row["panel"]]
        at = (left + int(row["column"]) * width, top + int(row["row"]) * height)
        near = [colour for (x, y), colour in drawn.items() if abs(x - at[0]) < SLACK and abs(y - at[1]) < SLACK]
        # Six digits of a value may be on the other side of a colour's end.
        colours = {f"h{math.ceil(min(max(float(row['value']) * slack, 0), 1) * 10)}" for slack in (1 - 1e-5, 1, 1 + 1e-5)}
        assert colours & set(near), f"{file}: {row} at {at} is drawn as {near}"
    assert len(drawn) >= len(cells) > 0, file
    for row in rows:
        for key, names in (("row", figure["rows"]), ("column", figure["columns"])):
            if row[key]:
                assert names[int(row[key])] == row[f"{key}_name"], f"{file}: {row}"
    framed = [row for row in rows if not row["value"]]
    assert len(framed) == len(figure["marked_rows"]) + len(figure["marked_columns"]), file


def waits_again(root, _figure, rows, file):
    assert len(boxes(root, "node")) == len({row["node"] for row in rows}), file
    edges = [path for path in root.iter(f"{SVG}path") if "edge" in classes(path)]
    assert len(edges) == len([row for row in rows if row["waits_for"]]), file
    titles = {title.text for title in root.iter(f"{SVG}title")}
    assert {row["label"] for row in rows} <= titles, f"{file}: {titles}"
    culprits = [box for box in root.iter(f"{SVG}rect") if "culprit" in classes(box)]
    assert len(culprits) == len({row["node"] for row in rows if row["is_culprit"] == "1"}), file


def network_again(root, figure, rows, file):
    """The lines' colours, and that lines of a node meet in one point: a picture has no other numbers than these."""
    def style(row):
        load = float(row["load"])
        return "down" if int(row["down"]) else "degraded" if int(row["degraded"]) else f"load{0 if load <= 0 else min(4, 1 + math.floor(load * 4 - 1e-9))}"
    wires = [path for path in root.iter(f"{SVG}path") if "wire" in classes(path)]
    assert len(wires) == len(rows) == len(figure["links"]), file
    drawn = collections.Counter(next(one for one in classes(wire) if re.fullmatch(r"down|degraded|load\d", one)) for wire in wires)
    assert drawn == collections.Counter(map(style, rows)), f"{file}: {drawn}"
    ends = [re.findall(r"[-\d.]+", wire.attrib["d"]) for wire in wires]
    for side, key in ((0, "below"), (2, "above")):
        fans = collections.Counter(tuple(numbers[side:side + 2]) for numbers in ends)
        assert sorted(fans.values()) == sorted(collections.Counter(row[key] for row in rows).values()), f"{file}: {key}"


DRAWN_AGAIN = {"line": line_again, "schedule": schedule_again, "hosts": hosts_again, "bar": bar_again, "heat": heat_again,
               "waits": waits_again, "network": network_again}

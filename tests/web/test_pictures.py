"""Pictures of rows: where they come from, and what is served of them."""

import base64
import io
import zipfile

import pytest
from PIL import Image

from sidelight.exceptions import SidelightError
from sidelight.web._pictures import (
    MOST_PIXELS,
    PictureError,
    check_archive,
    contents_of,
    encoded,
)


def picture(kind="PNG", size=(40, 30), colour=(200, 30, 30), **how):
    file = io.BytesIO()
    Image.new("RGB", size, colour).save(file, kind, **how)
    return file.getvalue()


def opened(pixels):
    return Image.open(io.BytesIO(pixels))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_every_format_becomes_pixels_of_ours(kind):
    pixels, media = encoded(picture(kind))
    assert media == "image/png"
    found = opened(pixels)
    assert (found.format, found.size) == ("PNG", (40, 30))
    red, green, blue = found.convert("RGB").getpixel((20, 15))
    assert abs(red - 200) < 20
    assert max(green, blue) < 60


def test_large_pictures_become_smaller_and_lose_what_is_not_pixels():
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    pixels, media = encoded(picture("JPEG", (3000, 1500), exif=exif))
    assert media == "image/jpeg"
    assert opened(pixels).size == (1024, 512)
    assert b"where I live" not in pixels


@pytest.mark.parametrize("size", [(900, 900), (40, 30)])
def test_neither_comments_nor_profiles_are_served(size):
    kept = {"comment": b"where I live", "icc_profile": b"where I live" * 20}
    pixels, _ = encoded(picture("JPEG", size, **kept))
    assert b"where I live" not in pixels
    assert not {"comment", "icc_profile", "exif"} & set(opened(pixels).info)


def test_what_lies_on_its_side_is_turned():
    exif = Image.Exif()
    exif[0x0112] = 6
    pixels, _ = encoded(picture("JPEG", (40, 30), exif=exif))
    assert opened(pixels).size == (30, 40)


def test_a_picture_of_too_many_pixels_is_not_decoded():
    side = int(MOST_PIXELS**0.5) + 10
    file = io.BytesIO()
    Image.new("1", (side, side)).save(file, "PNG")
    with pytest.raises(PictureError, match="at most 50,000,000"):
        encoded(file.getvalue())
    huge = bytearray(picture("PNG"))
    huge[16:24] = (100_000).to_bytes(4, "big") * 2
    with pytest.raises(PictureError, match="pixels|not a picture"):
        encoded(bytes(huge))


@pytest.mark.parametrize(
    "contents",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"<html><script>alert(1)</script>",
        b"%!PS-Adobe-3.0 EPSF-3.0",
        b"",
        picture()[:40],
    ],
)
def test_what_is_not_a_picture_is_a_sentence(contents):
    with pytest.raises(PictureError, match="not a picture that can be shown; known: PNG") as why:
        encoded(contents)
    assert " object at " not in str(why.value)


def test_a_cell_holds_a_picture_or_names_a_file_below_the_folder(tmp_path):
    root = tmp_path / "root"
    (root / "photos").mkdir(parents=True)
    (root / "photos" / "a b.png").write_bytes(b"inside")
    (tmp_path / "secret.png").write_bytes(b"outside")
    (root / "link.png").symlink_to(tmp_path / "secret.png")

    def of(cell):
        return contents_of(cell, root=root, archive=None)

    assert of("photos/a b.png") == b"inside"
    assert of("data:image/png;base64," + base64.b64encode(b"here").decode()) == b"here"
    for cell in ("../secret.png", str(tmp_path / "secret.png"), "link.png", "no.png", "a\0b", "."):
        with pytest.raises(PictureError, match="no picture"):
            of(cell)
    for cell in ("https://example.org/a.png", "data:text/html;base64,AA=="):
        with pytest.raises(PictureError, match="not from elsewhere"):
            of(cell)
    for cell in (None, "", "  "):
        with pytest.raises(PictureError, match="has no picture"):
            of(cell)
    with pytest.raises(PictureError, match="damaged"):
        of("data:image/png;base64,?")


def archive_of(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name.encode())
    return path


def test_members_of_an_archive_go_by_their_names(tmp_path):
    archive = archive_of(tmp_path / "p.zip", ["x/a.png", "y/a.png", "x/b.png", "../c.png"])

    def of(cell):
        return contents_of(cell, root=tmp_path, archive=archive)

    assert of("x/a.png") == b"x/a.png"
    assert of("b.png") == of("elsewhere\\b.png") == b"x/b.png"
    assert of("../c.png") == b"../c.png"  # a member, and no path
    with pytest.raises(PictureError, match="has no 'a.png'"):
        of("a.png")  # there are two


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_without_bound_is_refused(tmp_path, packed):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w", packed) as archive:
        archive.writestr("a.png", picture())
    with pytest.raises(SidelightError, match="unusual compression"):
        check_archive(path, 10**9)
    with pytest.raises(PictureError, match="unusual compression"):
        contents_of("a.png", root=tmp_path, archive=path)


def test_a_damaged_archive_is_a_sentence(tmp_path):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.png", bytes(range(256)) * 40)
    good = path.read_bytes()
    at = good.index(b"a.png") + len("a.png")
    for k, wrong in enumerate((b"\xff" * 8, good[at : at + 20] + b"\xff" * 8)):
        damaged = tmp_path / f"{k}.zip"
        damaged.write_bytes(good[:at] + wrong + good[at + len(wrong) :])
        with pytest.raises(PictureError, match="'a.png' in the archive of pictures is damaged"):
            contents_of("a.png", root=tmp_path, archive=damaged)
    for k, wrong in enumerate((b"id,x\n1,2\n", good[:60], good[:-30])):
        cut = tmp_path / f"cut{k}.zip"
        cut.write_bytes(wrong)
        with pytest.raises(SidelightError, match="one zip archive"):
            check_archive(cut, 10**9)
        with pytest.raises(PictureError, match="not a zip archive"):
            contents_of("a.png", root=tmp_path, archive=cut)


def test_another_upload_in_the_place_of_the_archive_is_a_problem_and_no_crash(owner, tmp_path):
    table = write_photos(tmp_path / "photos.csv")
    key = owner.upload(table)["upload"]
    told = owner.post(f"uploads/{key}/preview", {**HOW, "pictures": key})
    assert "not a zip archive" in told["problems"][0]["message"]
    with pytest.raises(SidelightError, match="one zip archive"):
        owner.post("projects", {**HOW, "upload": key, "name": "photos", "pictures": key})


def write_photos(path, n=12):
    lines = ["id,photo,x,y"]
    lines += [f"r{k},pics/{k}.png,{k % 2 * 5 + k / 100},{k / 50}" for k in range(n)]
    path.write_text("\n".join(lines) + "\n")
    return path


HOW = {"id": "id", "drop": ["photo"], "images": ["photo"]}


def test_pictures_come_with_the_table_and_are_shown_to_those_who_answer(
    owner, as_person, bench, tmp_path
):
    table = write_photos(tmp_path / "photos.csv")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as made:
        for k in range(12):
            made.writestr(f"pics/{k}.png", picture(colour=(10 * k, 0, 0)))
    sent = owner._http.post("/api/uploads/pictures", content=archive.getvalue()).json()
    assert sent["n_files"] == 12
    key = owner.upload(table)["upload"]
    told = owner.post(f"uploads/{key}/preview", HOW)
    assert "no picture of column 'photo' can be shown" in told["problems"][0]["message"]
    told = owner.post(f"uploads/{key}/preview", {**HOW, "pictures": sent["upload"]})
    assert told["problems"] == []
    project = owner.create_project(table, "photos", **HOW, pictures=sent["upload"])["id"]
    assert owner.get(f"projects/{project}")["images"] == ["photo"]
    bob, _ = as_person("bob", "annotator")
    at = f"/api/projects/{project}/rows"
    found = bob._http.get(f"{at}/7/picture", params={"column": "photo"})
    assert found.headers["content-type"] == "image/png"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert opened(found.content).getpixel((3, 3)) == (70, 0, 0)
    question = bob.ask(project, 1)[0]
    assert "photo" not in question["differs"]
    for row, column in ((7, "id"), (99, "photo"), (-1, "photo")):
        answer = bob._http.get(f"{at}/{row}/picture", params={"column": column})
        assert answer.status_code == 404
    # The archive goes along with the project.
    again = owner._http.post("/api/projects/file", content=owner.export(project, "project.zip"))
    other = again.json()["id"]
    found = bob._http.get(f"/api/projects/{other}/rows/7/picture", params={"column": "photo"})
    assert opened(found.content).getpixel((3, 3)) == (70, 0, 0)


def test_pictures_inside_cells_are_not_sent_as_texts(owner, tmp_path):
    path = tmp_path / "inside.csv"
    cell = "data:image/png;base64," + base64.b64encode(picture()).decode()
    path.write_text(
        "".join(f"{line}\n" for line in ["id,photo,x", *(f'r{k},"{cell}",{k}' for k in range(4))])
    )
    project = owner.create_project(path, "inside", **HOW)["id"]
    (row,) = owner.get(f"projects/{project}/rows", ids="2")
    assert row["cells"] == {"photo": "picture", "x": 2}
    got = owner._http.get(f"/api/projects/{project}/rows/2/picture?column=photo&small=true")
    assert got.status_code == 200


def test_an_archive_that_is_none_or_too_much_is_refused(owner, bench, tmp_path):
    http = owner._http
    assert http.post("/api/uploads/pictures", content=b"a,b\n1,2\n").status_code == 422
    empty = archive_of(tmp_path / "empty.zip", [])
    assert http.post("/api/uploads/pictures", content=empty.read_bytes()).status_code == 422
    table = write_photos(tmp_path / "photos.csv")
    with pytest.raises(SidelightError, match="'snap'"):
        owner.create_project(table, "photos", id="id", drop=["photo"], images=["snap"])
    assert [path.suffix for path in (bench.settings.root / "uploads").iterdir()] == [".csv"]

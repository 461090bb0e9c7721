"""The defaults block of one address: its value and its profiles, each inline or in a file beside the document."""

from __future__ import annotations

from dataclasses import dataclass

from homeostat.cli.sync.console.editor import edited_text
from homeostat.cli.sync.console.run import Run
from homeostat.cli.sync.repository.commits import commit_files
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.metadata.document import included, read_document
from homeostat.operators.sync.engine.metadata.layers import read_defaults, stored_document
from homeostat.operators.sync.engine.paths.selector import Selector
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.payload.codec import encode
from homeostat.operators.sync.engine.payload.format import by_extension
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.engine.tree.layout import extension
from homeostat.operators.sync.session.save import document_files
from homeostat.operators.sync.session.session import Session


@dataclass(slots=True)
class Block:
    session: Session
    selector: Selector

    @property
    def document(self) -> JsonObject:
        return stored_document(self.session.root, self.selector) or {}

    @property
    def defaults(self) -> JsonObject:
        found: JsonObject = self.document.get("resource", {}).get("defaults", {})
        return found

    def values(self, item: Json) -> JsonObject:
        """The values of an entry, read from its file if it is one."""
        name = included(item) if isinstance(item, str) else None
        if name is not None:
            where = [each for each in self.selector.directory.split("/") if each]
            return read_defaults(self.session.root.at(where) or Directory(), name)
        return item if isinstance(item, dict) else {}

    def profile(self, name: str) -> Json:
        profiles = self.defaults.get("profiles", {})
        if name not in profiles:
            raise NotFoundError(f'{self.selector.text} has no profile "{name}" of defaults in its own document')
        return profiles[name]

    def with_defaults(self, defaults: JsonObject) -> dict[str, bytes | None]:
        """The files of the document with this block; an empty one is left out."""
        document = self.document
        inner = {key: item for key, item in document.get("resource", {}).items() if key != "defaults"}
        inner |= {"defaults": defaults} if defaults else {}
        changed = {**document, "resource": inner}
        return document_files(
            self.session, self.selector, read_document(changed, is_collection=self.selector.is_collection)
        )

    def with_entry(self, item: Json, values: JsonObject, defaults: JsonObject) -> dict[str, bytes | None]:
        """The files that change if an entry gets these values; `defaults` is the block with them inline."""
        name = included(item) if isinstance(item, str) else None
        if name is None:
            return self.with_defaults(defaults)
        return {f"{self.selector.directory}/{name}": encode(values, by_extension(extension(name)))}

    async def write(self, files: dict[str, bytes | None]) -> None:
        await self.session.files.write(files)
        await commit_files(self.session, f"declarest: save defaults {self.selector.text}", list(files))


async def edit_object(run: Run, value: JsonObject, editor: str | None) -> JsonObject | None:
    """An object in an editor, as YAML; None if it was left as it was."""
    text = yaml.dump(value, is_sorted=False).decode()
    edited = await edited_text(run, text, editor, extension=".yaml", instead="resource metadata set -f")
    if edited is None:
        return None
    found = yaml.load(edited.encode())
    if found is not None and not isinstance(found, dict):
        raise ValidationError("the edited text is not an object")
    return found or {}

"""`faceCount(?n)` and `pedestrianCount(?n)`: what a picture shows, with detectors that ship inside OpenCV 4.

The event's `image` is a data URI (base64), or the name of a file below the directory `TAMIS_IMAGES`: events come from
strangers, so no other file is ever opened. Both run in a worker process: a picture may be made to hurt its decoder.
"""

import base64
import binascii
import os
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import cv2
import numpy as np

from tamis.errors import OperatorError
from tamis.operators.event import EventView
from tamis.operators.registry import make_operator

Box: TypeAlias = tuple[int, int, int, int]
LARGEST_PIXELS = 32_000_000
PERSON_SCORE = 0.3


def read_image(source: str) -> Any:
    """The picture as an array uint8[height, width, 3]."""
    if source.startswith("data:"):
        try:
            raw = base64.b64decode(source.partition(",")[2], validate=True)
        except binascii.Error:
            raise OperatorError("image is not well-formed base64") from None
    else:
        root = os.environ.get("TAMIS_IMAGES")
        if not root:
            raise OperatorError("image names a file, but TAMIS_IMAGES does not say below which directory")
        file = (Path(root) / source).resolve()
        if not file.is_relative_to(Path(root).resolve()) or not file.is_file():
            raise OperatorError(f"there is no image {source!r} below TAMIS_IMAGES")
        raw = file.read_bytes()
    image = cv2.imdecode(np.frombuffer(raw, np.uint8), cv2.IMREAD_COLOR)
    if image is None:
        raise OperatorError("image cannot be decoded")
    if image.shape[0] * image.shape[1] > LARGEST_PIXELS:
        raise OperatorError(f"image has more than {LARGEST_PIXELS:,} pixels")
    return image


@lru_cache(maxsize=1)
def face_detector() -> Any:
    """Haar cascade for frontal faces."""
    return cv2.CascadeClassifier(str(Path(cv2.__file__).parent / "data" / "haarcascade_frontalface_default.xml"))


@lru_cache(maxsize=1)
def people_detector() -> Any:
    """Histogram of oriented gradients with OpenCV's own people weights (Dalal and Triggs)."""
    detector = cv2.HOGDescriptor()
    detector.setSVMDetector(cv2.HOGDescriptor_getDefaultPeopleDetector())  # type: ignore[attr-defined]
    return detector


def faces(image: Any) -> list[Box]:
    """Boxes (x, y, width, height) of faces."""
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return [boxed(box) for box in face_detector().detectMultiScale(grey, scaleFactor=1.1, minNeighbors=5)]


def people(image: Any) -> list[Box]:
    """Boxes of standing people, at least 128 pixels high with some margin around them."""
    if image.shape[0] < 128 or image.shape[1] < 64:
        return []
    found, scores = people_detector().detectMultiScale(image, winStride=(8, 8), padding=(8, 8), scale=1.05)
    return [boxed(box) for box, score in zip(found, np.ravel(scores), strict=True) if score >= PERSON_SCORE]


def boxed(box: Any) -> Box:
    """A detector's box in plain integers."""
    x, y, width, height = (int(side) for side in box)
    return x, y, width, height


def count_faces(event: EventView) -> int:
    """How many faces the event's picture shows."""
    return len(faces(read_image(str(event["image"]))))


def count_people(event: EventView) -> int:
    """How many standing people the event's picture shows."""
    return len(people(read_image(str(event["image"]))))


face_count = make_operator("faceCount", count_faces, outputs=1, isolate=True, seconds=10, megabytes=2048, cost=0.05)
pedestrian_count = make_operator(
    "pedestrianCount", count_people, outputs=1, isolate=True, seconds=10, megabytes=2048, cost=0.3
)

"""S3-FIFO: Yang, Zhang, Qiu, Yue and Rashmi's Algorithm 1."""

from __future__ import annotations

from reference.small_main import SmallMain


class S3FIFO(SmallMain):
    policy = "s3fifo"

    def on_hit(self, frame: int, flags: int) -> None:
        self.count[frame] = min(self.count[frame] + 1, 3)

    def goes(self, frame: int) -> bool:
        return self.count[frame] <= (1 if frame in self.small else 0)

    def state(self) -> dict[str, list[str] | str]:
        return {
            "S": self.show_list(self.small, self.count),
            "M": self.show_list(self.main, self.count),
            "G": [self.show_page(page) for page in self.ghost],
            "target": str(self.target),
        }

#!/usr/bin/env python3
"""Live restores that are killed while an application is connected to the database, which stays so to the end."""
import sqlite3

from common.copies import InPlaceCompanions
from common.desk import Wrong
from common.stories import RestoreLive, RestoreLiveRollback, content_itself


class Connected:
    """The application is this process: it sees the old rows or the new ones as everybody else does, and goes on."""

    def prepare(self, desk):
        super().prepare(desk)
        self.application = sqlite3.connect(desk.database, check_same_thread=False, isolation_level=None, timeout=30)
        self.before = self.count()

    def count(self):
        return self.application.execute("select count(*) from t").fetchone()[0]

    def found(self, desk):
        # What the killed one has written to the -wal and not made known to others counts only where nobody is connected.
        return content_itself(desk.database)

    def look(self, desk, died):
        try:
            if (self.found(desk) == self.old) != (self.count() == self.before):
                raise Wrong("the application sees other rows than a new connection")
            super().look(desk, died)
            if self.count() == self.before:
                raise Wrong("the application goes on seeing the old rows")
            self.application.execute("insert into t(body) values (x'00')")
        finally:
            self.application.close()


class ConnectedLive(Connected, RestoreLive):
    asserted = RestoreLive.asserted + "; an application that stays connected sees the same, and writes on"


class ConnectedLiveRollback(Connected, RestoreLiveRollback):
    asserted = ConnectedLive.asserted


class ConnectedLiveCompanions(Connected, InPlaceCompanions, RestoreLive):
    name, fault = "restore --live with companions", "kill -9 of a live restore of a database and its files, at any call"
    asserted = ("the rows are the old ones or the new ones, for an application too, which stays connected; with new rows stand new files; "
                "the old files are kept, and the next restore says where; restoring again brings both")

    def look_at_next_restore(self, desk):
        places = self.aside(desk)
        told = desk.run(*self.arguments(desk))
        if told.returncode != 0 or not any(place in told.stderr for place in places):
            raise Wrong(f"the next restore does not say where the old files are: {told.stderr.strip()}")


STORIES = [ConnectedLive, ConnectedLiveRollback, ConnectedLiveCompanions]

#!/usr/bin/python3
"""The kinds of databases: what tables they have and what each change does to them, in SQL.

Parameters: :first and :last of the ids to insert, :seed of the round, :permille of the rows to change. Rows to change
are chosen by a hash of their id, so they lie scattered over every table.
"""

import dataclasses

IDS = "with recursive ids(i) as (select :first union all select i + 1 from ids where i < :last)"
CHOSEN = "h(:seed, id) % 1000 < :permille"


@dataclasses.dataclass
class Kind:
    title: str
    table: str
    """The table whose ids count rows."""
    schema: str
    insert: list
    update: list
    """Changes rows without changing their size."""
    grow: list
    """Makes the same rows longer."""
    delete: list
    alter: list
    touch: str
    """Changes one row in place, on one page."""
    last: str = "select max(id) from {table}"
    """The greatest number that any of its ids was made from."""
    again: list = dataclasses.field(default_factory=list)
    """Inserts the rows up to id :last once more: ids :shift higher, what must be unique marked with :mark."""


OLTP = Kind(
    "orders of a shop: four tables, eight secondary indexes",
    "customer",
    """
    create table customer(id integer primary key, name text, email text, city text, balance real, created integer, note text);
    create unique index customer_email on customer(email);
    create index customer_city on customer(city, name);
    create table product(id integer primary key, sku text, title text, price real);
    create unique index product_sku on product(sku);
    create table orders(id integer primary key, customer integer, placed integer, status text, total real, remark text);
    create index orders_customer on orders(customer, placed);
    create index orders_status on orders(status, placed);
    create table item(id integer primary key, orders integer, product integer, quantity integer, price real);
    create index item_orders on item(orders);
    create index item_product on item(product, quantity);
    create index orders_placed on orders(placed);
    """,
    [
        f"""{IDS} insert into customer(id, name, email, city, balance, created, note)
            select i, words(1, i, 2), printf('%016x@%s.example', h(2, i), words(3, h(4, i) % 300, 1)),
            words(5, h(6, i) % 500, 1), (h(7, i) % 1000000) / 100.0, 1600000000 + h(8, i) % 100000000, words(9, i, h(10, i) % 16) from ids""",
        f"""{IDS} insert into product(id, sku, title, price)
            select i, printf('%010d', h(11, i) % 10000000000), words(12, i, 5), (h(13, i) % 10000) / 100.0
            from ids where i % 20 = 0 and true on conflict do nothing""",
        f"""{IDS} insert into orders(id, customer, placed, status, total, remark)
            select i * 4 + k, 1 + h(14, i * 4 + k) % :last, 1600000000 + h(15, i * 4 + k) % 100000000,
            substr('opdsr', 1 + h(16, i * 4 + k) % 5, 1), (h(17, i * 4 + k) % 100000) / 100.0, words(18, i * 4 + k, h(19, i * 4 + k) % 8)
            from ids, (select 0 as k union all select 1 union all select 2 union all select 3)""",
        f"""{IDS} insert into item(id, orders, product, quantity, price)
            select i * 12 + k, i * 4 + h(20, i * 12 + k) % 4, 20 * (h(21, i * 12 + k) % (:last / 20 + 1)), 1 + h(22, i * 12 + k) % 9,
            (h(23, i * 12 + k) % 10000) / 100.0
            from ids, (with recursive ks(k) as (select 0 union all select k + 1 from ks where k < 11) select k from ks)""",
    ],
    [
        f"update customer set balance = (h(:seed, id + 1) % 100000000) / 10007.0 where {CHOSEN}",
        f"""update orders set status = substr('opdsr', 1 + h(:seed, id + 2) % 5, 1), total = (h(:seed, id + 3) % 100000000) / 10007.0
            where {CHOSEN}""",
        f"update item set quantity = 1 + h(:seed, id + 4) % 9, price = (h(:seed, id + 5) % 100000000) / 10007.0 where {CHOSEN}",
    ],
    [
        f"update customer set note = note || ' ' || words(:seed, id, 6) where {CHOSEN}",
        f"update orders set status = substr('opdsr', 1 + h(:seed, id + 2) % 5, 1), remark = remark || ' ' || words(:seed, id, 4) where {CHOSEN}",
        f"update item set price = (h(:seed, id + 5) % 100000000) / 10007.0, quantity = 1000 + h(:seed, id) % 1000000000 where {CHOSEN}",
    ],
    [f"delete from item where {CHOSEN}", f"delete from orders where {CHOSEN}", f"delete from customer where {CHOSEN}"],
    [
        "alter table orders add column region{turn} text default 'none'",
        "update orders set region{turn} = words(31, h(32, id) % 50, 1) where id % 10 = 0",
        "create index item_price{turn} on item(price)",
    ],
    "update customer set balance = (h(:seed, 1) % 100000000) / 10007.0 where id = (select max(id) / 2 from customer)",
    """select max(last) from (select max(id) as last from customer union all select max(id) / 4 from orders
       union all select max(id) / 12 from item)""",
    [
        f"""insert into customer select id + :shift, name, :mark || email, city, balance, created, note from customer
            where id <= :last order by id""",
        "insert into product select id + :shift, :mark || sku, title, price from product where id <= :last order by id",
        f"""insert into orders select id + 4 * :shift, customer + :shift, placed, status, total, remark from orders
            where id <= 4 * :last + 3 order by id""",
        f"""insert into item select id + 12 * :shift, orders + 4 * :shift, product, quantity, price from item
            where id <= 12 * :last + 11 order by id""",
    ],
)

EVENTS = Kind(
    "events of devices: written at the end, hardly ever changed",
    "event",
    """
    create table event(id integer primary key, at integer, device integer, kind text, value real, payload text);
    create index event_device on event(device, at);
    """,
    [
        f"""{IDS} insert into event(id, at, device, kind, value, payload)
            select i, 1700000000000 + i * 137 + h(1, i) % 137, h(2, i) % 2000, words(3, h(4, i) % 40, 1),
            (h(5, i) % 1000000) / 1000.0, printf('{{"session":"%016x","level":%d,"text":"%s"}}', h(6, i / 50), h(7, i) % 5, words(8, i, 4 + h(9, i) % 12))
            from ids"""
    ],
    [f"update event set value = (h(:seed, id + 1) % 100000000) / 10007.0 where {CHOSEN}"],
    [f"update event set payload = payload || ' ' || words(:seed, id, 6) where {CHOSEN}"],
    [f"delete from event where {CHOSEN}"],
    [
        "alter table event add column region{turn} text default 'none'",
        "update event set region{turn} = words(31, h(32, id) % 50, 1) where id % 10 = 0",
        "create index event_kind{turn} on event(kind, at)",
    ],
    "update event set value = (h(:seed, 1) % 100000000) / 10007.0 where id = (select max(id) / 2 from event)",
)

MAIL = Kind(
    "an archive of mail with full-text search (FTS5)",
    "mail",
    """
    create table mail(id integer primary key, message text, sender text, sent integer, flags text);
    create unique index mail_message on mail(message);
    create index mail_sender on mail(sender, sent);
    create virtual table mail_text using fts5(subject, body);
    """,
    [
        f"""{IDS} insert into mail(id, message, sender, sent, flags)
            select i, printf('%016x.%x@mail.example', h(1, i), i), printf('%s.%s@%s.example', words(2, h(3, i) % 900, 1),
            words(4, h(3, i) % 900, 1), words(5, h(3, i) % 90, 1)), 1500000000 + i * 61, substr('rfas', 1 + h(6, i) % 4, 1) from ids""",
        f"""{IDS} insert into mail_text(rowid, subject, body)
            select i, words(7, i, 3 + h(8, i) % 6), words(9, i, 20 + h(10, i) % 300) from ids""",
    ],
    [f"update mail set flags = substr('rfas', 1 + h(:seed, id + 1) % 4, 1) where {CHOSEN}"],
    [f"""update mail_text set body = body || ' ' || words(:seed, rowid, 12)
            where rowid in (select id from mail where {CHOSEN})"""],
    [f"delete from mail_text where rowid in (select id from mail where {CHOSEN})", f"delete from mail where {CHOSEN}"],
    [
        "alter table mail add column folder{turn} text default 'inbox'",
        "update mail set folder{turn} = words(31, h(32, id) % 50, 1) where id % 10 = 0",
        "create index mail_sent{turn} on mail(sent)",
    ],
    "update mail set flags = substr('wxyz', 1 + h(:seed, 1) % 4, 1) where id = (select max(id) / 2 from mail)",
)

BLOBS = Kind(
    "files that nothing can compress, 1 to 128 KiB each",
    "file",
    """
    create table file(id integer primary key, name text, changed integer, body blob);
    create unique index file_name on file(name);
    """,
    [
        f"""{IDS} insert into file(id, name, changed, body)
            select i, printf('%s/%016x.jpg', words(1, h(2, i) % 200, 1), h(3, i)), 1700000000 + i * 311,
            noise(4, i, 1024 + h(5, i) % 130048) from ids"""
    ],
    [f"update file set body = noise(:seed, id, length(body)) where {CHOSEN}"],
    [f"update file set body = body || noise(:seed, id, 4096) where {CHOSEN}"],
    [f"delete from file where {CHOSEN}"],
    [
        "alter table file add column kind{turn} text default 'photo'",
        "update file set kind{turn} = words(31, h(32, id) % 50, 1) where id % 10 = 0",
        "create index file_changed{turn} on file(changed)",
    ],
    "update file set changed = 1800000000 + h(:seed, 1) % 1000 where id = (select max(id) / 2 from file)",
)

KINDS = {"oltp": OLTP, "events": EVENTS, "mail": MAIL, "blobs": BLOBS}

#!/usr/bin/python3
def write(folder): pass

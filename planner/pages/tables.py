"""Tables that pages show, each with its download."""

from collections.abc import Iterable

import streamlit as st

from planner.charts.picture import Picture


def download(frame, name: str):
    """A button that saves a table as a CSV file of that name."""
    st.download_button(
        "Download CSV",
        frame.to_csv(index=False),
        file_name=f"{name}.csv",
        mime="text/csv",
        key=f"csv-{name}",
        on_click="ignore",
    )


def of_pictures(pictures: Iterable[Picture]):
    """The table behind each picture, under its title."""
    for picture in pictures:
        table = picture.table()
        st.markdown(f"**{picture.title}**")
        st.dataframe(table, hide_index=True, key=f"table-{picture.id}")
        download(table, picture.id)

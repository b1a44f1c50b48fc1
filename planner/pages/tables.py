"""Tables that pages show, each with its download."""

import streamlit as st


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


def of_drawings(drawings: dict):
    """The table behind each chart, under the chart's title."""
    for title, (chart, drawing) in drawings.items():
        table = drawing.table()
        st.markdown(f"**{title}**")
        st.dataframe(table, hide_index=True, key=f"table-{chart.__name__}")
        download(table, chart.__name__)

"""The same records with dlt: its REST client with token pagination, its Parquet loader into a directory.

usage: dlt_side.py URL DIRECTORY
"""

import sys

import dlt
from dlt.sources.helpers.rest_client import RESTClient
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator


@dlt.resource(name="orders", primary_key="id", write_disposition="append")
def orders(url):
    paginator = JSONResponseCursorPaginator(cursor_path="next", cursor_param="page_token")
    yield from RESTClient(base_url=url, paginator=paginator, data_selector="records").paginate("/records")


def main():
    url, folder = sys.argv[1:]
    pipeline = dlt.pipeline(
        pipeline_name="orders",
        pipelines_dir=f"{folder}/state",
        destination=dlt.destinations.filesystem(bucket_url=f"file://{folder}/out"),
        dataset_name="orders",
    )
    pipeline.run(orders(url), loader_file_format="parquet")


main()
